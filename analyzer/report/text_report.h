// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "analyzer/report/report_model.h"

namespace vramtrace::report {

// For people: most important first, one screen for a small program. Lines made for grep, at the very end:
//   LEAK SUMMARY of process 4711: 20971520 bytes in 10 allocations     one a process, if there are several
//   LEAK SUMMARY: 20971520 bytes in 10 allocations                     always the last line
void write_text(std::ostream& out, const Report& report);

}  // namespace vramtrace::report
