// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "analyzer/report/report_model.h"

namespace vramtrace::report {

// The same numbers for programs; docs/report-json.md describes every field. A field is added without notice, renamed or
// given another meaning only with a new number.
constexpr unsigned kReportSchema = 1;

void write_json(std::ostream& out, const Report& report);

}  // namespace vramtrace::report
