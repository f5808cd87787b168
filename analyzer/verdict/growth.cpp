// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "analyzer/print/units.h"
#include "analyzer/verdict/robust_slope.h"
#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {
namespace {

// Of the steps from round to round, how many must not fall. Below, what piles up is also given back.
constexpr double kRising = 0.9;
// Survivors of the last third of the rounds, as a share of all after warm-up: a growth that has stopped is none.
constexpr double kStillGoing = 0.1;

std::string decimal(double value) {
    char text[32];
    std::snprintf(text, sizeof text, value >= 10 ? "%.0f" : "%.2g", value);
    return text;
}

uint64_t sum(std::span<const uint64_t> values) {
    uint64_t total = 0;
    for (const uint64_t value : values) total += value;
    return total;
}

}  // namespace

std::optional<Finding> growth(const Candidate& candidate) {
    const size_t rounds = candidate.trough_count.size();
    // Modules: nobody says how many bytes their code takes.
    const bool counted = candidate.quantity() == accounts::Quantity::Handle || candidate.kind == accounts::Kind::Module;
    if (candidate.left.count == 0 || rounds < 1 + accounts::kLeastIterations) return std::nullopt;
    // Few rounds are all needed; then only the one before the loop is left out.
    const size_t skip = std::min(warm_up_rounds(rounds), rounds - accounts::kLeastIterations);
    const auto& troughs = counted ? candidate.trough_count : candidate.trough_bytes;
    // The last round is not over, and the end of the program may have ended what lived in it.
    const Slope slope = robust_slope(std::span(troughs).subspan(skip, rounds - skip - 1));
    if (slope.per_step <= 0 || slope.rising < kRising) return std::nullopt;
    const uint64_t survivors = sum(std::span(candidate.survivor_count).subspan(skip));
    const uint64_t survivor_bytes = sum(std::span(candidate.survivor_bytes).subspan(skip));
    const uint64_t late = sum(std::span(candidate.survivor_count).subspan(rounds - (rounds - skip + 2) / 3));
    if (survivors < 3 || static_cast<double>(late) < kStillGoing * static_cast<double>(survivors)) return std::nullopt;

    Finding finding = about(candidate, Class::Growth);
    finding.weight = Weight::Leak;
    const uint64_t seen =
        candidate.iterations > (skip - 1) * candidate.stride ? candidate.iterations - (skip - 1) * candidate.stride : 1;
    finding.iterations = seen;
    finding.survivors_per_iteration = static_cast<double>(survivors) / static_cast<double>(seen);
    finding.bytes_per_iteration = static_cast<double>(survivor_bytes) / static_cast<double>(seen);
    const std::string each = counted ? decimal(finding.survivors_per_iteration) + " more"
                                     : print::bytes(static_cast<uint64_t>(finding.bytes_per_iteration)) + " more";
    finding.title = "growth: " + each + " every iteration from " + candidate.place();
    finding.evidence.push_back("survivors an iteration: " + decimal(finding.survivors_per_iteration) + ", over " +
                               print::counted(seen, "iteration", "iterations") + " after warm-up (" +
                               print::counted(survivors, "piece", "pieces") + ", " +
                               print::exact_bytes(survivor_bytes) + ")");
    const double per_iteration = slope.per_step / static_cast<double>(candidate.stride);
    finding.evidence.push_back("the least that was live in each iteration rises by " +
                               (counted ? decimal(per_iteration) : print::bytes(static_cast<uint64_t>(per_iteration))) +
                               " an iteration (Theil–Sen) and does not fall in " +
                               std::to_string(static_cast<int>(slope.rising * 100)) + " % of the steps");
    finding.remedy = "Free it, or drop the last reference to it, before the next iteration.";
    return finding;
}

}  // namespace vramtrace::verdict
