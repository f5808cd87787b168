// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/driver/cuda_api.h"
#include "simulator/machine.h"

namespace vramtrace::simulator {

// What cuDeviceGetAttribute answers: a device of compute capability 9.0; 0 for what the simulator cannot do.
int device_attribute(const Device& device, CUdevice_attribute attribute);

}  // namespace vramtrace::simulator
