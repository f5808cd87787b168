// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramtrace::simulator {

// Whether the whole range lies in one global variable of a loaded module or library.
bool is_global_range(uint64_t address, uint64_t bytes);

void declare_global(const void* image, const char* name, size_t bytes, bool managed);

}  // namespace vramtrace::simulator
