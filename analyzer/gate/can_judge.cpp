// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/can_judge.h"

#include <utility>

#include "analyzer/obstacles.h"

namespace vramtrace::gate {

std::vector<std::string> obstacles(const Analysis& analysis) {
    std::vector<std::string> reasons;
    bool any = false;
    for (const ProcessAnalysis& process : analysis.processes) {
        any = any || made_memory(process);
        for (std::string& reason : obstacles_of(process)) reasons.push_back(std::move(reason));
    }
    for (const std::string& warning : analysis.warnings) reasons.push_back(warning);
    if (!any) reasons.emplace_back("no CUDA allocation was recorded: is this the job that was meant?");
    return reasons;
}

}  // namespace vramtrace::gate
