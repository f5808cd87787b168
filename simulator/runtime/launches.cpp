// SPDX-License-Identifier: Apache-2.0
// Launches. Compiled twice: for the legacy and for the per-thread default stream.
#include "simulator/runtime/device_variables.h"

#include <cuda_runtime_api.h>

using namespace vramtrace::simulator::runtime;

namespace {

// A function is a host function registered by nvcc's code, or a kernel handle of the library interface. A registered
// kernel that the driver does not know ends here, successfully: it would do nothing anyway.
cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (function == nullptr) return cudaErrorInvalidDeviceFunction;
        if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0 ||
            size_t{block.x} * block.y * block.z > 1024) {
            return cudaErrorInvalidConfiguration;
        }
        RegisteredKernel* kernel = nullptr;
        const cudaError_t error = find_kernel(driver, function, &kernel);
        if (error != cudaSuccess) return error;
        auto handle = reinterpret_cast<CUfunction>(const_cast<void*>(function));
        if (kernel != nullptr) {
            if (kernel->handle == nullptr) return cudaSuccess;
            handle = reinterpret_cast<CUfunction>(kernel->handle);
        }
        return to_error(driver.OF_DEFAULT_STREAM(cuLaunchKernel_v4000, cuLaunchKernel_v7000_ptsz)(
            handle, grid.x, grid.y, grid.z, block.x, block.y, block.z, static_cast<unsigned>(shared_bytes), stream,
            arguments, nullptr));
    });
}

}  // namespace

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif

extern "C" {

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t stream) {
    return launch(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
    return launch(function, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
    return launch(function, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration, const void* function, void** arguments) {
    if (configuration == nullptr) return report(cudaErrorInvalidValue);
    return launch(function, configuration->gridDim, configuration->blockDim, arguments, configuration->dynamicSmemBytes,
                  configuration->stream);
}

}  // extern "C"
