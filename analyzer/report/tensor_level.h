// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/report_model.h"

namespace vramtrace::report {

// Fills what is left of report.tensors: host pools, and in one sentence where the tensor level comes from. A framework that
// hands out no blocks of its own (another back end, no caching, a pluggable allocator) allocates by driver calls: those are
// the tensors then. One that took segments from the driver and told of no block in them was not hooked.
void add_tensor_level(ProcessReport& report);

}  // namespace vramtrace::report
