// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "analyzer/print/json_writer.h"
#include "analyzer/report/report_model.h"

namespace vramtrace::report {

// The program's own phases: how often, how long, what they did to device memory and to frameworks' blocks.
std::string phase_section(const ProcessReport& report);
// Said below the header if the report is cut to a phase, or if not everything was recorded by the program's own wish.
std::string cut_section(const ProcessReport& report);

// "phases": all of them, whatever -n says. "cut": what the report was cut to, or null.
void write_phases(print::JsonWriter& json, const ProcessReport& report);
void write_cut(print::JsonWriter& json, const ProcessReport& report);

}  // namespace vramtrace::report
