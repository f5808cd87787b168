// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace vramtrace::simulator {

void declare_global(const void* image, const char* name, size_t bytes, bool managed);

}  // namespace vramtrace::simulator
