// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/units.h"
#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {

// A framework keeps the segments that its tensors lie in until the end: a cache. The tensors in them are judged themselves.
std::optional<Finding> segments(const Candidate& candidate) {
    if (candidate.left.count == 0 || candidate.left_segments != candidate.left) return std::nullopt;
    Finding finding = about(candidate, Class::UnusedReserve);
    finding.weight = Weight::Note;
    finding.title = "kept by the framework's allocator: " + print::bytes(candidate.left.bytes) + " in " +
                    print::counted(candidate.left.count, "segment", "segments") + " of " +
                    std::string(replay::kind_name(candidate.kind)) + " from " + candidate.place();
    finding.evidence.push_back("tensors lie or lay in each of them; what is left of those is judged on its own");
    return finding;
}

// PyTorch's pinned host memory is a cache, too: what it took it keeps.
std::optional<Finding> pinned_cache(const Candidate& candidate) {
    if (candidate.left.count == 0 || !candidate.pinned_cache) return std::nullopt;
    Finding finding = about(candidate, Class::UnusedReserve);
    finding.weight = Weight::Note;
    finding.title = "kept by the framework's cache of pinned memory: " + print::bytes(candidate.left.bytes) + " in " +
                    print::counted(candidate.left.count, "piece", "pieces") + " from " + candidate.place();
    finding.evidence.push_back("it rounds every request up to a power of two and gives nothing back");
    return finding;
}

// Taken by a framework that hands out parts of it by itself: nothing can be said of the inside.
std::optional<Finding> arena(const Candidate& candidate) {
    if (candidate.left.count == 0 || candidate.arena.empty()) return std::nullopt;
    Finding finding = about(candidate, Class::UnusedReserve);
    finding.weight = Weight::Note;
    finding.title = "arena: " + print::bytes(candidate.left.bytes) + " in " +
                    print::counted(candidate.left.count, "piece", "pieces") + " from " + candidate.place();
    finding.evidence.push_back(candidate.arena);
    return finding;
}

}  // namespace vramtrace::verdict
