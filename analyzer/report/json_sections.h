// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/print/json_writer.h"
#include "analyzer/report/report_model.h"

// The parts of a process in the JSON report; each adds its members to the object that is open.
namespace vramtrace::report {

void write_leaks(print::JsonWriter& json, const ProcessReport& report);
void write_devices(print::JsonWriter& json, const ProcessReport& report);
void write_tensors(print::JsonWriter& json, const ProcessReport& report);
void write_tensor_blocks(print::JsonWriter& json, const ProcessAnalysis& process, const DeviceReport& device);
void write_sites(print::JsonWriter& json, const ProcessReport& report);  // churn, failures, totals

// Pieces that several parts use.
void write_amount(print::JsonWriter& json, const char* key, const accounts::Amount& amount);
void write_table(print::JsonWriter& json, const char* key, const ProcessAnalysis& process, const Table& table,
                 bool leak);

}  // namespace vramtrace::report
