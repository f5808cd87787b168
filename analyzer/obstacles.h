// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis.h"

namespace vramtrace {

// Whether the process ever made memory, or tried to.
bool made_memory(const ProcessAnalysis& process);

// Why nothing can be concluded from what is recorded of this process, one sentence a reason; empty if something can.
std::vector<std::string> obstacles_of(const ProcessAnalysis& process);

}  // namespace vramtrace
