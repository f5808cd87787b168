// SPDX-License-Identifier: Apache-2.0
#include "trace/test_point.h"

namespace vramtrace::trace {

void (*test_point_reached)(const char* name) = nullptr;

}  // namespace vramtrace::trace
