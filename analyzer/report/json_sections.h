// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/print/json_writer.h"
#include "analyzer/report/report_model.h"

// The parts of a process in the JSON report; each adds its members to the object that is open.
namespace vramtrace::report {

void write_leaks(print::JsonWriter& json, const ProcessReport& report);
void write_devices(print::JsonWriter& json, const ProcessReport& report);
void write_sites(print::JsonWriter& json, const ProcessReport& report);  // churn, failures, totals

}  // namespace vramtrace::report
