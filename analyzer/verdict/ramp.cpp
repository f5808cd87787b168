// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/units.h"
#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {
namespace {

constexpr uint64_t kLeastSteps = 5;
constexpr double kLarger = 0.8;
constexpr uint64_t kMostAtOnce = 2;  // the new one before the old one is gone

}  // namespace

// torch.cat in a loop, a cache that is copied to grow.
std::optional<Finding> ramp(const Candidate& candidate) {
    if (!is_memory(candidate.quantity()) || candidate.allocated.count < kLeastSteps + 1) return std::nullopt;
    if (candidate.own_peak.count > kMostAtOnce * candidate.sites.size()) return std::nullopt;
    const auto steps = static_cast<double>(candidate.allocated.count - candidate.sites.size());
    if (static_cast<double>(candidate.larger) < kLarger * steps) return std::nullopt;
    uint64_t largest = 0;
    for (const accounts::SiteId site : candidate.sites) {
        largest = std::max(largest, candidate.process->accounts.sites[site].largest);
    }
    Finding finding = about(candidate, Class::Ramp);
    finding.weight = Weight::Suspicion;
    finding.title = "ramp: each allocation is larger than the one it replaces, up to " + print::bytes(largest) +
                    ", at " + candidate.place();
    finding.evidence.push_back(print::grouped(candidate.larger) + " of " +
                               print::counted(candidate.allocated.count, "allocation was", "allocations were") +
                               " larger than the one before; at most " +
                               print::counted(candidate.own_peak.count, "was", "were") + " live at once");
    finding.evidence.push_back(
        "while one replaces the other both are live: " + print::exact_bytes(candidate.own_peak.bytes) + " at the most");
    finding.remedy = "Allocate the final size once and write into it, or grow by a factor instead of a step.";
    return finding;
}

}  // namespace vramtrace::verdict
