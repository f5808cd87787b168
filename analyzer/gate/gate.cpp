// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/gate.h"

#include <algorithm>
#include <cstdio>

#include "analyzer/gate/can_judge.h"
#include "analyzer/print/units.h"
#include "analyzer/verdict/verdicts.h"

namespace vramtrace::gate {
namespace {

using accounts::Amount;
using verdict::Class;
using verdict::Finding;
using verdict::Weight;

struct Judged {
    const ProcessAnalysis* process;
    Finding finding;
    std::string fingerprint;
};

bool is_memory(accounts::Quantity quantity) {
    switch (quantity) {
        case accounts::Quantity::Device:
        case accounts::Quantity::Managed:
        case accounts::Quantity::HostPinned:
        case accounts::Quantity::HostRegistered:
        // The segments that tensors lie in are no leak (verdict/segments.cpp), so no byte is counted twice.
        case accounts::Quantity::Block:
        case accounts::Quantity::HostBlock:
            return true;
        default:
            return false;
    }
}

bool is_leaked_memory(const Judged& judged) {
    return judged.finding.weight == Weight::Leak && is_memory(judged.finding.quantity);
}

std::string exact(const Amount& amount) {
    return print::exact_bytes(amount.bytes) + " in " + print::counted(amount.count, "allocation", "allocations");
}

std::string at_most(const std::string& what) {
    return "at most " + what;
}

class Gate {
public:
    Gate(const Analysis& analysis, const Request& request)
        : analysis_(analysis), limits_(request.limits), suppressions_(request.suppressions, request.today) {
        for (const ProcessAnalysis& process : analysis.processes) {
            for (Finding& finding : verdict::judge(process)) take(process, std::move(finding), request);
            for (const accounts::Total& total : process.accounts.totals) {
                if (total.quantity != accounts::Quantity::Device) continue;
                uint64_t& peak = decision_.baseline_of_this_run.peaks[std::to_string(total.device)];
                peak = std::max(peak, total.peak.bytes);
            }
        }
    }

    Decision decide(const Request& request) && {
        leaked();
        growth();
        peaks(request);
        fragmentation();
        failures();
        handles();
        decision_.obstacles = obstacles(analysis_, request);
        decision_.suppressions = suppressions_.uses();
        const bool failed = std::any_of(decision_.rules.begin(), decision_.rules.end(),
                                        [](const RuleResult& rule) { return !rule.passed; });
        // What was seen and is too much stays too much, whatever could not be seen.
        decision_.outcome = failed                         ? Outcome::Failed
                            : !decision_.obstacles.empty() ? Outcome::CannotJudge
                                                           : Outcome::Passed;
        return std::move(decision_);
    }

private:
    void take(const ProcessAnalysis& process, Finding finding, const Request& request) {
        const bool tensor =
            finding.quantity == accounts::Quantity::Block || finding.quantity == accounts::Quantity::HostBlock;
        if (request.survivors && tensor && finding.what == Class::LeftAtExit) finding.weight = Weight::Leak;
        if (finding.weight == Weight::Note) return;
        const std::string fingerprint = site_fingerprint(process, finding);
        auto& known = decision_.baseline_of_this_run.sites[fingerprint];
        known.title = finding.title;
        known.what = verdict::class_name(finding.what);
        known.bytes += finding.amount.bytes;
        known.count += finding.amount.count;
        known.bytes_per_iteration = std::max(known.bytes_per_iteration, finding.bytes_per_iteration);
        if (suppressions_.covers(process, finding)) return;
        if (request.baseline) {
            const auto before = request.baseline->sites.find(fingerprint);
            // Twice the same site in one run (two processes): together they must not exceed what is known.
            if (before != request.baseline->sites.end() && known.bytes <= before->second.bytes &&
                known.count <= before->second.count) {
                ++decision_.known_in_baseline;
                return;
            }
        }
        judged_.push_back({&process, std::move(finding), fingerprint});
    }

    RuleResult& rule(const char* id, std::string limit) {
        decision_.rules.push_back({id, std::move(limit), "", true, {}});
        return decision_.rules.back();
    }
    static void blame(RuleResult& rule, const Judged& judged) {
        rule.offenders.push_back({judged.process, judged.finding, judged.finding.title, judged.fingerprint});
    }

    void leaked() {
        Amount sum;
        const Judged* worst = nullptr;
        for (const Judged& judged : judged_) {
            if (!is_leaked_memory(judged)) continue;
            sum.bytes += judged.finding.amount.bytes;
            sum.count += judged.finding.amount.count;
            if (worst == nullptr || judged.finding.amount.bytes > worst->finding.amount.bytes) worst = &judged;
        }
        const auto total = [&](const char* id, uint64_t limit, uint64_t value, const std::string& text) {
            RuleResult& result = rule(id, at_most(text));
            result.measured = exact(sum);
            result.passed = value <= limit;
            if (result.passed) return;
            for (const Judged& judged : judged_) {
                if (is_leaked_memory(judged)) blame(result, judged);
            }
        };
        if (limits_.leaked_bytes) {
            total("leaked-bytes", *limits_.leaked_bytes, sum.bytes, print::bytes(*limits_.leaked_bytes));
        }
        if (limits_.leaked_allocations) {
            total("leaked-allocations", *limits_.leaked_allocations, sum.count,
                  print::counted(*limits_.leaked_allocations, "allocation", "allocations"));
        }
        if (!limits_.leaked_bytes_per_site) return;
        RuleResult& result = rule("leaked-bytes-per-site", at_most(print::bytes(*limits_.leaked_bytes_per_site)));
        result.measured = worst != nullptr ? exact(worst->finding.amount) + " at the worst call site" : "nothing";
        for (const Judged& judged : judged_) {
            if (is_leaked_memory(judged) && judged.finding.amount.bytes > *limits_.leaked_bytes_per_site)
                blame(result, judged);
        }
        result.passed = result.offenders.empty();
    }

    void growth() {
        if (!limits_.growth) return;
        RuleResult& result = rule("growth", at_most(print::bytes(*limits_.growth) + " per iteration and call site"));
        double most = 0;
        uint64_t iterations = 0;
        for (const ProcessAnalysis& process : analysis_.processes) {
            if (process.iterations) iterations = std::max(iterations, process.iterations->count);
        }
        for (const Judged& judged : judged_) {
            if (judged.finding.iterations == 0 || judged.finding.weight != Weight::Leak) continue;
            most = std::max(most, judged.finding.bytes_per_iteration);
            // Handles have no bytes and grow all the same.
            if (judged.finding.bytes_per_iteration > static_cast<double>(*limits_.growth) ||
                judged.finding.quantity == accounts::Quantity::Handle) {
                blame(result, judged);
            }
        }
        result.measured = iterations < accounts::kLeastIterations
                              ? "no loop of 5 iterations or more was found"
                              : print::bytes(static_cast<uint64_t>(most)) + " over " +
                                    print::counted(iterations, "iteration", "iterations");
        result.passed = result.offenders.empty();
    }

    void peaks(const Request& request) {
        const auto check = [&](const char* id, const std::string& limit, auto&& limit_of) {
            RuleResult& result = rule(id, limit);
            for (const ProcessAnalysis& process : analysis_.processes) {
                for (const accounts::Total& total : process.accounts.totals) {
                    if (total.quantity != accounts::Quantity::Device) continue;
                    const std::optional<uint64_t> most = limit_of(total.device);
                    const std::string text = "device " + std::to_string(total.device) + ": " +
                                             print::exact_bytes(total.peak.bytes) + " at the peak";
                    result.measured += (result.measured.empty() ? "" : "; ") + text;
                    if (!most || total.peak.bytes <= *most) continue;
                    result.offenders.push_back(
                        {&process, std::nullopt, text + ", more than " + print::exact_bytes(*most), ""});
                }
            }
            result.passed = result.offenders.empty();
            return result.measured.empty();
        };
        if (limits_.peak) {
            check("peak", at_most(print::bytes(*limits_.peak)), [&](uint8_t) { return limits_.peak; });
        }
        if (!limits_.peak_tolerance) return;
        if (!request.baseline) {
            RuleResult& result = rule("peak-against-baseline", "there is no baseline to compare with");
            result.passed = false;
            return;
        }
        char share[32];
        std::snprintf(share, sizeof share, "%.3g %%", *limits_.peak_tolerance * 100);
        check("peak-against-baseline", at_most(std::string(share) + " above the baseline"),
              [&](uint8_t device) -> std::optional<uint64_t> {
                  const auto before = request.baseline->peaks.find(std::to_string(device));
                  if (before == request.baseline->peaks.end()) return 0;
                  return static_cast<uint64_t>(static_cast<double>(before->second) * (1 + *limits_.peak_tolerance));
              });
    }

    void fragmentation() {
        if (!limits_.fragmentation) return;
        char text[48];
        std::snprintf(text, sizeof text, "1 - peak live / footprint at most %.3g", *limits_.fragmentation);
        RuleResult& result = rule("fragmentation", text);
        for (const ProcessAnalysis& process : analysis_.processes) {
            for (const auto& [device, instant] : process.accounts.devices) {
                const accounts::Total* total = process.accounts.total(device, accounts::Quantity::Device);
                if (total == nullptr || instant.footprint_peak == 0 || total->peak.bytes >= instant.footprint_peak)
                    continue;
                const double ratio =
                    1 - static_cast<double>(total->peak.bytes) / static_cast<double>(instant.footprint_peak);
                char measured[48];
                std::snprintf(measured, sizeof measured, "device %u: %.3f", device, ratio);
                result.measured += (result.measured.empty() ? "" : "; ") + std::string(measured);
                if (ratio > *limits_.fragmentation) result.offenders.push_back({&process, std::nullopt, measured, ""});
            }
        }
        if (result.measured.empty()) result.measured = "0";
        result.passed = result.offenders.empty();
    }

    void failures() {
        if (!limits_.failed_allocations) return;
        RuleResult& result = rule("failed-allocations", at_most(print::grouped(*limits_.failed_allocations)));
        uint64_t failed = 0;
        for (const ProcessAnalysis& process : analysis_.processes) {
            const uint64_t here = process.accounts.failures_total - process.accounts.failures_recovered;
            failed += here;
            if (here == 0) continue;
            result.offenders.push_back({&process, std::nullopt,
                                        process.facts.title() + ": " + print::counted(here, "call was", "calls were") +
                                            " refused and not recovered",
                                        ""});
        }
        result.measured = print::grouped(failed);
        result.passed = failed <= *limits_.failed_allocations;
        if (result.passed) result.offenders.clear();
    }

    void handles() {
        if (!limits_.handles) return;
        RuleResult& result = rule("handles", at_most(print::grouped(*limits_.handles)));
        uint64_t left = 0;
        for (const Judged& judged : judged_) {
            if (judged.finding.what != Class::Handles) continue;
            left += judged.finding.amount.count;
            blame(result, judged);
        }
        result.measured = print::grouped(left) + " never closed";
        result.passed = left <= *limits_.handles;
        if (result.passed) result.offenders.clear();
    }

    const Analysis& analysis_;
    const Limits& limits_;
    Suppressions suppressions_;
    std::vector<Judged> judged_;
    Decision decision_;
};

}  // namespace

std::string Decision::sentence() const {
    switch (outcome) {
        case Outcome::Passed:
            return "gate passed: " + print::counted(rules.size(), "rule", "rules") + " kept";
        case Outcome::CannotJudge:
            return "gate cannot judge: " + obstacles.front();
        case Outcome::Failed:
            break;
    }
    std::string text = "gate failed:";
    for (const RuleResult& rule : rules) {
        if (!rule.passed) text += (text.back() == ':' ? " " : ", ") + rule.id;
    }
    return text;
}

Decision decide(const Analysis& analysis, const Request& request) {
    return Gate(analysis, request).decide(request);
}

}  // namespace vramtrace::gate
