// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis.h"

namespace vramtrace {

// Whether the process ever made memory, or tried to.
bool made_memory(const ProcessAnalysis& process);

// "train (pid 4711)".
std::string name_of(const ProcessAnalysis& process);

// Why nothing can be concluded from what is recorded of this process, one sentence a reason; empty if something can.
// That it still runs is not among them: what that means the reader knows.
std::vector<std::string> obstacles_of(const ProcessAnalysis& process);

}  // namespace vramtrace
