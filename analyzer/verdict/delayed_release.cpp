// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyzer/print/units.h"
#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {
namespace {

constexpr uint64_t kLeastPiled = 5;     // pieces of one site live at once that one iteration does not need
constexpr double kFreedInTheEnd = 0.8;  // of what had piled up
constexpr size_t kLeastRise = 5;        // rounds over which it piled up

enum class Who { Program, Collector, Teardown };

bool names_any(const ProcessAnalysis& process, uint32_t stack, std::span<const std::string_view> names) {
    for (const uint32_t frame : process.stack(stack).recorded()) {
        const std::string& function = process.frames[frame].function;
        for (const std::string_view name : names) {
            if (function.find(name) != std::string::npos) return true;
        }
    }
    return false;
}

Who who_freed(const ProcessAnalysis& process, uint32_t stack) {
    constexpr std::array<std::string_view, 4> kCollector = {"gc_collect", "_PyGC_", "PyGC_Collect", "gc.collect"};
    constexpr std::array<std::string_view, 6> kTeardown = {"Py_Finalize", "Py_RunMain.cold",  "__run_exit_handlers",
                                                           "_dl_fini",    "finalize_modules", "__cxa_finalize"};
    if (names_any(process, stack, kTeardown)) return Who::Teardown;
    if (names_any(process, stack, kCollector)) return Who::Collector;
    return Who::Program;
}

// The longest run of rounds in which the trough does not fall, and how much it rose in it.
struct Rise {
    size_t rounds = 0;
    uint64_t from = 0, to = 0;
    size_t end = 0;  // one past its last round
};
Rise longest_rise(const std::vector<uint64_t>& troughs) {
    Rise best;
    for (size_t begin = 0; begin < troughs.size();) {
        size_t end = begin + 1, steps = 0;
        for (; end < troughs.size() && troughs[end] >= troughs[end - 1]; ++end)
            steps += troughs[end] > troughs[end - 1];
        if (steps > best.rounds) best = {steps, troughs[begin], troughs[end - 1], end};
        begin = end;
    }
    return best;
}

}  // namespace

std::optional<Finding> delayed_release(const Candidate& candidate) {
    if (!is_memory(candidate.quantity())) return std::nullopt;
    const Rise rise = longest_rise(candidate.trough_count);
    const uint64_t piled = rise.to - rise.from;
    if (rise.rounds < kLeastRise || piled < kLeastPiled) return std::nullopt;
    if (static_cast<double>(candidate.left.count) > (1 - kFreedInTheEnd) * static_cast<double>(piled))
        return std::nullopt;

    accounts::Amount collector, teardown, program;
    for (const auto& release : candidate.releases) {
        accounts::Amount& sum = [&]() -> accounts::Amount& {
            switch (who_freed(*candidate.process, release.stack)) {
                case Who::Collector:
                    return collector;
                case Who::Teardown:
                    return teardown;
                case Who::Program:
                    break;
            }
            return program;
        }();
        sum.count += release.amount.count;
        sum.bytes += release.amount.bytes;
    }
    Finding finding = about(candidate, Class::DelayedRelease);
    finding.weight = Weight::Suspicion;
    finding.amount = candidate.own_peak;
    finding.iterations = rise.rounds * candidate.stride;
    finding.survivors_per_iteration = static_cast<double>(piled) / static_cast<double>(finding.iterations);
    finding.bytes_per_iteration = finding.survivors_per_iteration * static_cast<double>(candidate.allocated.bytes) /
                                  static_cast<double>(candidate.allocated.count);
    const char* by = collector.count >= std::max(teardown.count, program.count / 2) && collector.count > 0
                         ? "by the garbage collector"
                     : teardown.count > 0 && teardown.count >= program.count ? "when the program ended"
                     : candidate.freed_with_context.count > 0                ? "with its context"
                                                                             : "by the program";
    // An interpreter frees its globals before it ends: what piled up until then was held for ever.
    const bool to_the_end = rise.end + 2 >= candidate.trough_count.size();
    if (to_the_end && teardown.count >= collector.count + program.count && teardown.count > 0) {
        finding.what = Class::Growth;
        finding.weight = Weight::Leak;
        finding.title = "growth: " + print::bytes(static_cast<uint64_t>(finding.bytes_per_iteration)) +
                        " more every iteration from " + candidate.place();
        finding.evidence.push_back(print::counted(piled, "piece", "pieces") + " piled up over " +
                                   print::counted(finding.iterations, "iteration", "iterations") + ", up to " +
                                   print::exact_bytes(candidate.own_peak.bytes) +
                                   "; they were held until the program ended");
        finding.remedy =
            "Something holds it for ever: a list that only grows, a graph kept through its result. Keep numbers "
            "(.item()), or .detach() what is kept.";
        return finding;
    }
    finding.title = "delayed release: up to " + print::bytes(candidate.own_peak.bytes) + " piled up and were freed " +
                    by + ", from " + candidate.place();
    finding.evidence.push_back(print::counted(piled, "piece", "pieces") + " piled up over " +
                               print::counted(finding.iterations, "iteration", "iterations") + "; " +
                               print::counted(candidate.left.count, "piece is", "pieces are") + " left at the end");
    finding.evidence.push_back("freed by the garbage collector: " + print::grouped(collector.count) +
                               ", at teardown: " + print::grouped(teardown.count) +
                               ", otherwise: " + print::grouped(program.count));
    if (collector.count > 0) {
        finding.remedy = "A reference cycle holds it: break the cycle, or hold the owner by a weak reference.";
    } else {
        finding.remedy = "Something holds it longer than its iteration: a list, a closure, a stored exception.";
    }
    return finding;
}

}  // namespace vramtrace::verdict
