// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "analyzer/print/json_writer.h"
#include "analyzer/report/report_model.h"

namespace vramtrace::report {

// What the trace shows, worst first: one line a finding, its evidence below.
std::string verdict_section(const ProcessReport& report, const Options& options);
// "findings": all of them, whatever -n says.
void write_findings(print::JsonWriter& json, const ProcessReport& report);

}  // namespace vramtrace::report
