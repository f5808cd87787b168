// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "analyzer/report/report_model.h"

// The layer of tensors: in a job with blocks it comes before the driver's.
namespace vramtrace::report {

std::string tensor_level_line(const ProcessReport& report);
// What is left, the peaks, each device's table in the shape of torch.cuda.memory_summary(), churn.
std::string tensor_sections(const ProcessReport& report, const Options& options);

}  // namespace vramtrace::report
