// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "simulator/driver/call.h"

namespace vramtrace::simulator {

void copy(const CUDA_MEMCPY3D& what);
void fill(CUdeviceptr destination, size_t pitch, unsigned int value, unsigned int element_bytes, size_t width,
          size_t height);

}  // namespace vramtrace::simulator
