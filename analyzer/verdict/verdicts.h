// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/verdict/finding.h"

namespace vramtrace::verdict {

// What a process's trace shows, worst first: by weight, then by bytes, then by pieces. The same trace gives the same
// findings in the same order. Growth and delayed release need AnalysisOptions::iterations.
std::vector<Finding> judge(const ProcessAnalysis& process);

}  // namespace vramtrace::verdict
