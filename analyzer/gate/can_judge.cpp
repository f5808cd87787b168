// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/can_judge.h"

#include <utility>

#include "analyzer/obstacles.h"
#include "analyzer/print/units.h"

namespace vramtrace::gate {
namespace {

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
        any = any || made_memory(process);
        if (const std::string why = still_running(process, request); !why.empty())
            reasons.push_back(name_of(process) + why);
        if (request.phase && process.accounts.phases.not_measured != 0) {
            reasons.push_back(name_of(process) + ": " +
                              print::counted(process.accounts.phases.not_measured, "range", "ranges") +
                              " lay too deep or beside too many others; the phase may be among them");
        }
        for (std::string& reason : obstacles_of(process)) reasons.push_back(std::move(reason));
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
