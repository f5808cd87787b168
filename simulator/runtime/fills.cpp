// SPDX-License-Identifier: Apache-2.0
// Fills. Compiled twice: for the legacy and for the per-thread default stream.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

using namespace vramtrace::simulator::runtime;

namespace {

// Slices of a 3D fill lie pitch * ysize bytes apart; rows beyond the extent must stay untouched.
template <typename FillSlice>
CUresult fill_slices(const cudaPitchedPtr& target, const cudaExtent& extent, FillSlice&& fill_slice) {
    if (extent.width == 0 || extent.height == 0) return CUDA_SUCCESS;
    for (size_t z = 0; z < extent.depth; ++z) {
        const CUdeviceptr slice = device_address(target.ptr) + z * target.pitch * target.ysize;
        const CUresult result = fill_slice(slice);
        if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

cudaError_t cudaMemset(void* to, int value, size_t count) {
    return with_context([&](const DriverCalls& driver) {
        if (count == 0) return CUDA_SUCCESS;
        return driver.OF_DEFAULT_STREAM(cuMemsetD8_v3020, cuMemsetD8_v7000_ptds)(
            device_address(to), static_cast<unsigned char>(value), count);
    });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t count, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        if (count == 0) return CUDA_SUCCESS;
        return driver.OF_DEFAULT_STREAM(cuMemsetD8Async_v3020, cuMemsetD8Async_v7000_ptsz)(
            device_address(to), static_cast<unsigned char>(value), count, stream);
    });
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return with_context([&](const DriverCalls& driver) {
        if (width == 0 || height == 0) return CUDA_SUCCESS;
        return driver.OF_DEFAULT_STREAM(cuMemsetD2D8_v3020, cuMemsetD2D8_v7000_ptds)(
            device_address(to), pitch, static_cast<unsigned char>(value), width, height);
    });
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        if (width == 0 || height == 0) return CUDA_SUCCESS;
        return driver.OF_DEFAULT_STREAM(cuMemsetD2D8Async_v3020, cuMemsetD2D8Async_v7000_ptsz)(
            device_address(to), pitch, static_cast<unsigned char>(value), width, height, stream);
    });
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent) {
    return with_context([&](const DriverCalls& driver) {
        return fill_slices(to, extent, [&](CUdeviceptr slice) {
            return driver.OF_DEFAULT_STREAM(cuMemsetD2D8_v3020, cuMemsetD2D8_v7000_ptds)(
                slice, to.pitch, static_cast<unsigned char>(value), extent.width, extent.height);
        });
    });
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return fill_slices(to, extent, [&](CUdeviceptr slice) {
            return driver.OF_DEFAULT_STREAM(cuMemsetD2D8Async_v3020, cuMemsetD2D8Async_v7000_ptsz)(
                slice, to.pitch, static_cast<unsigned char>(value), extent.width, extent.height, stream);
        });
    });
}

}  // extern "C"
