// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation and hints. Compiled twice: for the legacy and for the per-thread default stream.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

#include "simulator/runtime/names_12.h"

using namespace vramtrace::simulator::runtime;

extern "C" {

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (pointer == nullptr) return cudaErrorInvalidValue;
        *pointer = nullptr;
        if (size == 0) return cudaSuccess;
        return to_error(driver.OF_DEFAULT_STREAM(cuMemAllocAsync_v11020, cuMemAllocAsync_v11020_ptsz)(
            device_address_out(pointer), size, stream));
    });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (pointer == nullptr) return cudaErrorInvalidValue;
        *pointer = nullptr;
        if (size == 0) return cudaSuccess;
        return to_error(driver.OF_DEFAULT_STREAM(cuMemAllocFromPoolAsync_v11020, cuMemAllocFromPoolAsync_v11020_ptsz)(
            device_address_out(pointer), size, pool, stream));
    });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuMemFreeAsync_v11020, cuMemFreeAsync_v11020_ptsz)(device_address(pointer),
                                                                                           stream);
    });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t length, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamAttachMemAsync_v6000, cuStreamAttachMemAsync_v7000_ptsz)(
            stream, device_address(pointer), length, flags);
    });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t count, struct cudaMemLocation location, unsigned int flags,
                                 cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        CUmemLocation place = {};
        place.type = static_cast<CUmemLocationType>(location.type);
        place.id = location.id;
        return driver.OF_DEFAULT_STREAM(cuMemPrefetchAsync_v12020, cuMemPrefetchAsync_v12020_ptsz)(
            device_address(pointer), count, place, flags, stream);
    });
}

}  // extern "C"
