// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/units.h"
#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {

// The last rule: whatever is left and is nothing of the others.
std::optional<Finding> left_at_exit(const Candidate& candidate) {
    if (candidate.left.count == 0) return std::nullopt;
    Finding finding = about(candidate, Class::LeftAtExit);
    const bool memory = is_memory(candidate.quantity());
    // A framework's tensors that live to the end are a model and its optimizer: nobody frees those.
    const bool tensor =
        candidate.quantity() == accounts::Quantity::Block || candidate.quantity() == accounts::Quantity::HostBlock;
    finding.weight = memory && !tensor ? Weight::Leak : Weight::Note;
    const bool running = candidate.process->end.running();
    finding.title = std::string(running ? "live now: " : "left at exit: ") + print::bytes(candidate.left.bytes) +
                    " in " + print::counted(candidate.left.count, "piece", "pieces") + " of " +
                    std::string(replay::kind_name(candidate.kind)) + " from " + candidate.place();
    const uint64_t ended = candidate.allocated.count - std::min(candidate.left.count, candidate.allocated.count);
    finding.evidence.push_back(print::counted(candidate.allocated.count, "allocation", "allocations") + ", " +
                               print::grouped(ended) + " freed");
    if (candidate.iterations >= accounts::kLeastIterations) {
        finding.evidence.push_back("it does not grow: no rise from iteration to iteration over " +
                                   print::counted(candidate.iterations, "iteration", "iterations"));
    } else if (candidate.left.count > 1) {
        finding.evidence.push_back("too few iterations were seen to say whether it grows");
    }
    return finding;
}

}  // namespace vramtrace::verdict
