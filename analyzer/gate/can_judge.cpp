// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/can_judge.h"

#include "analyzer/opaque_arenas.h"
#include "analyzer/print/units.h"

namespace vramtrace::gate {
namespace {

bool made_memory(const ProcessAnalysis& process) {
    for (const accounts::Total& total : process.accounts.totals) {
        if (total.quantity != accounts::Quantity::Handle && total.allocated.count > 0) return true;
    }
    return process.accounts.failures_total > 0;
}

// Of a process that still runs, only what can no longer change may be judged: a phase without an open range.
std::string still_running(const ProcessAnalysis& process, const Request& request) {
    if (!process.end.running()) return {};
    if (!request.running || !request.phase) return " is still running";
    const auto& cut = process.accounts.cut;
    return cut && cut->open ? " is still in phase '" + *request.phase + "'" : "";
}

std::string no_phase(const Analysis& analysis, const std::string& wanted) {
    constexpr size_t kNames = 12;
    std::string names;
    size_t shown = 0;
    for (const ProcessAnalysis& process : analysis.processes) {
        if (process.accounts.cut && process.accounts.cut->ranges != 0) return {};
        for (const accounts::Phase& phase : process.accounts.phases.phases) {
            if (++shown <= kNames) names += (names.empty() ? "" : ", ") + phase.path;
        }
    }
    if (shown > kNames) names += " and others";
    return "no phase matches '" + wanted + "'" + (names.empty() ? ": the trace has none" : "; there are " + names);
}

}  // namespace

std::vector<std::string> obstacles(const Analysis& analysis, const Request& request) {
    std::vector<std::string> reasons;
    bool any = false;
    if (request.pid && analysis.processes.empty()) {
        reasons.push_back("the trace has no process " + std::to_string(*request.pid));
    } else if (request.phase) {
        if (std::string none = no_phase(analysis, *request.phase); !none.empty()) reasons.push_back(std::move(none));
    }
    for (const ProcessAnalysis& process : analysis.processes) {
        const std::string who = process.facts.title() + " (pid " + std::to_string(process.status.identity.pid) + ")";
        any = any || made_memory(process);
        if (const std::string why = still_running(process, request); !why.empty()) reasons.push_back(who + why);
        if (request.phase && process.accounts.phases.not_measured != 0) {
            reasons.push_back(who + ": " + print::counted(process.accounts.phases.not_measured, "range", "ranges") +
                              " lay too deep or beside too many others; the phase may be among them");
        }
        if (const auto until = process.judged_until()) {
            reasons.push_back(who + " lost " + print::counted(process.lost_events(), "event", "events") +
                              (process.accounts.stopped ? " or stopped recording" : "") +
                              ": what they were about cannot be known");
        }
        for (const accounts::TextNote& note : process.accounts.notes) {
            if (note.kind == trace::EventKind::BlindSpot) reasons.push_back(who + ": " + process.text(note.text));
        }
        for (const accounts::Site& site : process.accounts.sites) {
            if (const OpaqueArena arena = opaque_arena(process, site); arena.is_one()) {
                reasons.push_back(who + ": " + arena.sentence());
                break;
            }
        }
        for (const std::string& warning : process.status.warnings) reasons.push_back(who + ": " + warning);
    }
    for (const std::string& warning : analysis.warnings) reasons.push_back(warning);
    if (!any) {
        reasons.push_back("no CUDA allocation was recorded" +
                          (request.phase ? " in phase '" + *request.phase + "'" : std::string()) +
                          ": is this the job that was meant?");
    }
    return reasons;
}

}  // namespace vramtrace::gate
