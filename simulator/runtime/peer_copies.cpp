// SPDX-License-Identifier: Apache-2.0
// Copies between devices: these exist for the legacy default stream only.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

using namespace vramtrace::simulator::runtime;

extern "C" {

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t count) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        CUcontext to_context = nullptr;
        CUcontext from_context = nullptr;
        cudaError_t error = primary_context(driver, to_device, &to_context);
        if (error == cudaSuccess) error = primary_context(driver, from_device, &from_context);
        if (error != cudaSuccess || count == 0) return error;
        return to_error(
            driver.cuMemcpyPeer_v4000(device_address(to), to_context, device_address(from), from_context, count));
    });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t count,
                                cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        CUcontext to_context = nullptr;
        CUcontext from_context = nullptr;
        cudaError_t error = primary_context(driver, to_device, &to_context);
        if (error == cudaSuccess) error = primary_context(driver, from_device, &from_context);
        if (error != cudaSuccess || count == 0) return error;
        return to_error(driver.cuMemcpyPeerAsync_v4000(device_address(to), to_context, device_address(from),
                                                       from_context, count, stream));
    });
}

}  // extern "C"
