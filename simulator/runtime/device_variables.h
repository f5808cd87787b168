// SPDX-License-Identifier: Apache-2.0
// What nvcc-made objects register: fat binaries with their kernels and variables. A fat binary is handed to the driver
// when the first of its kernels or variables is used, never earlier.
#pragma once

#include "simulator/runtime/api_call.h"

#include <cstddef>
#include <string>

namespace vramtrace::simulator::runtime {

struct DeviceVariable {
    void* address;
    size_t size;
};

struct FatBinary;

struct RegisteredKernel {
    FatBinary* binary;
    std::string name;
    CUkernel handle;  // null: not asked for yet, or the driver has none by that name
    bool asked;
};

/// Where a registered `__device__`, `__constant__` or `__managed__` variable lies in the current context.
cudaError_t find_device_variable(const DriverCalls& driver, const void* symbol, DeviceVariable* variable);

/// The kernel registered for a host function, its fat binary loaded; null in `kernel` when nothing is registered.
cudaError_t find_kernel(const DriverCalls& driver, const void* host_function, RegisteredKernel** kernel);

}  // namespace vramtrace::simulator::runtime
