// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/units.h"
#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {
namespace {

// Streams made by the program, and the default one.
uint64_t streams(const ProcessAnalysis& process) {
    uint64_t made = 1;
    for (const accounts::HandleCount& handle : process.accounts.handles) {
        if (handle.kind == accounts::Kind::Stream) made += handle.made;
    }
    return made;
}

}  // namespace

// cuBLAS keeps a workspace of one size for each stream that it ever saw. A loop over new streams looks like growth, and
// ends with the last stream. Other libraries tie nothing to a stream.
std::optional<Finding> workspaces_of_streams(const Candidate& candidate) {
    if (!is_memory(candidate.quantity()) || candidate.left.count < 2) return std::nullopt;
    const std::string& library = candidate.library;
    if (library.rfind("libcublas", 0) != 0 && library.rfind("cuBLAS", 0) != 0) return std::nullopt;
    const uint64_t made = streams(*candidate.process);
    if (candidate.left.count != candidate.allocated.count || candidate.left.count > made) return std::nullopt;
    const uint64_t each = candidate.left.bytes / candidate.left.count;
    for (const accounts::SiteId site : candidate.sites) {
        const accounts::Site& one = candidate.process->accounts.sites[site];
        if (one.largest != each || one.allocated.bytes != one.allocated.count * each) return std::nullopt;
    }
    Finding finding = about(candidate, Class::LibraryCache);
    finding.weight = Weight::Note;
    finding.title = "library cache: " + print::counted(candidate.left.count, "workspace", "workspaces") + " of " +
                    print::bytes(each) + " kept by " + library + ", called at " + candidate.place();
    finding.evidence.push_back("one for each stream that it was used on, until its handle is destroyed: " +
                               print::counted(made - 1, "stream was", "streams were") + " made");
    finding.remedy = "Use the same streams again: a new one costs another workspace.";
    return finding;
}

// Growth was asked for before: what is left here does not grow with the iterations.
std::optional<Finding> library_cache(const Candidate& candidate) {
    if (!is_memory(candidate.quantity()) || candidate.left.count == 0) return std::nullopt;
    const std::string& library = candidate.library;
    if (library.empty()) return std::nullopt;
    Finding finding = about(candidate, Class::LibraryCache);
    finding.weight = Weight::Note;
    finding.title = "library cache: " + print::bytes(candidate.left.bytes) + " kept by " + library + ", called at " +
                    candidate.place();
    finding.evidence.push_back(
        print::counted(candidate.left.count, "piece", "pieces") +
        ": such libraries keep a workspace for each handle, stream or thread until the handle is destroyed");
    if (candidate.iterations >= accounts::kLeastIterations) {
        finding.evidence.push_back("it did not grow over " +
                                   print::counted(candidate.iterations, "iteration", "iterations"));
    }
    return finding;
}

}  // namespace vramtrace::verdict
