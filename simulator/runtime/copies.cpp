// SPDX-License-Identifier: Apache-2.0
// Copies and fills. Compiled twice: for the legacy and for the per-thread default stream.
#include "simulator/runtime/copy_parameters.h"
#include "simulator/runtime/device_variables.h"

#include <cuda_runtime_api.h>

using namespace vramtrace::simulator::runtime;

namespace {

CUresult copy_bytes(const DriverCalls& driver, void* to, const void* from, size_t count, cudaMemcpyKind kind) {
    if (count == 0) return CUDA_SUCCESS;
    const CUdeviceptr target = device_address(to);
    const CUdeviceptr source = device_address(from);
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return driver.OF_DEFAULT_STREAM(cuMemcpyHtoD_v3020, cuMemcpyHtoD_v7000_ptds)(target, from, count);
        case cudaMemcpyDeviceToHost:
            return driver.OF_DEFAULT_STREAM(cuMemcpyDtoH_v3020, cuMemcpyDtoH_v7000_ptds)(to, source, count);
        case cudaMemcpyDeviceToDevice:
            return driver.OF_DEFAULT_STREAM(cuMemcpyDtoD_v3020, cuMemcpyDtoD_v7000_ptds)(target, source, count);
        default:
            return driver.OF_DEFAULT_STREAM(cuMemcpy_v4000, cuMemcpy_v7000_ptds)(target, source, count);
    }
}

CUresult copy_bytes_async(const DriverCalls& driver, void* to, const void* from, size_t count, cudaMemcpyKind kind,
                          cudaStream_t stream) {
    if (count == 0) return CUDA_SUCCESS;
    const CUdeviceptr target = device_address(to);
    const CUdeviceptr source = device_address(from);
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return driver.OF_DEFAULT_STREAM(cuMemcpyHtoDAsync_v3020, cuMemcpyHtoDAsync_v7000_ptsz)(target, from, count,
                                                                                                   stream);
        case cudaMemcpyDeviceToHost:
            return driver.OF_DEFAULT_STREAM(cuMemcpyDtoHAsync_v3020, cuMemcpyDtoHAsync_v7000_ptsz)(to, source, count,
                                                                                                   stream);
        case cudaMemcpyDeviceToDevice:
            return driver.OF_DEFAULT_STREAM(cuMemcpyDtoDAsync_v3020, cuMemcpyDtoDAsync_v7000_ptsz)(target, source,
                                                                                                   count, stream);
        default:
            return driver.OF_DEFAULT_STREAM(cuMemcpyAsync_v4000, cuMemcpyAsync_v7000_ptsz)(target, source, count,
                                                                                           stream);
    }
}

cudaError_t copy_box(const CopySide& to, const CopySide& from, size_t width, size_t height, cudaMemcpyKind kind) {
    return with_context([&](const DriverCalls& driver) {
        if (width == 0 || height == 0) return CUDA_SUCCESS;
        const CUDA_MEMCPY3D copy = describe_copy(to, from, width, height, 1, kind);
        return driver.OF_DEFAULT_STREAM(cuMemcpy3D_v3020, cuMemcpy3D_v7000_ptds)(&copy);
    });
}

cudaError_t copy_box_async(const CopySide& to, const CopySide& from, size_t width, size_t height, cudaMemcpyKind kind,
                           cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        if (width == 0 || height == 0) return CUDA_SUCCESS;
        const CUDA_MEMCPY3D copy = describe_copy(to, from, width, height, 1, kind);
        return driver.OF_DEFAULT_STREAM(cuMemcpy3DAsync_v3020, cuMemcpy3DAsync_v7000_ptsz)(&copy, stream);
    });
}

CopySide rows(const void* pointer, size_t pitch, size_t height) {
    return {pointer, pitch, height, nullptr, 0, 0, 0};
}
CopySide of_array(cudaArray_const_t array, size_t x_bytes, size_t y) {
    return {nullptr, 0, 0, array, x_bytes, y, 0};
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t count, enum cudaMemcpyKind kind) {
    return with_context([&](const DriverCalls& driver) { return copy_bytes(driver, to, from, count, kind); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return with_context(
        [&](const DriverCalls& driver) { return copy_bytes_async(driver, to, from, count, kind, stream); });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t count, size_t offset,
                               enum cudaMemcpyKind kind) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        DeviceVariable variable = {};
        const cudaError_t error = find_device_variable(driver, symbol, &variable);
        if (error != cudaSuccess) return error;
        return to_error(copy_bytes(driver, static_cast<char*>(variable.address) + offset, from, count, kind));
    });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t count, size_t offset, enum cudaMemcpyKind kind) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        DeviceVariable variable = {};
        const cudaError_t error = find_device_variable(driver, symbol, &variable);
        if (error != cudaSuccess) return error;
        return to_error(copy_bytes(driver, to, static_cast<char*>(variable.address) + offset, count, kind));
    });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t count, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        DeviceVariable variable = {};
        const cudaError_t error = find_device_variable(driver, symbol, &variable);
        if (error != cudaSuccess) return error;
        char* to = static_cast<char*>(variable.address) + offset;
        return to_error(copy_bytes_async(driver, to, from, count, kind, stream));
    });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        DeviceVariable variable = {};
        const cudaError_t error = find_device_variable(driver, symbol, &variable);
        if (error != cudaSuccess) return error;
        const char* from = static_cast<char*>(variable.address) + offset;
        return to_error(copy_bytes_async(driver, to, from, count, kind, stream));
    });
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind) {
    return copy_box(rows(to, to_pitch, height), rows(from, from_pitch, height), width, height, kind);
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_box_async(rows(to, to_pitch, height), rows(from, from_pitch, height), width, height, kind, stream);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind) {
    return copy_box(of_array(to, x, y), rows(from, pitch, height), width, height, kind);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_box_async(of_array(to, x, y), rows(from, pitch, height), width, height, kind, stream);
}

cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, enum cudaMemcpyKind kind) {
    return copy_box(rows(to, pitch, height), of_array(from, x, y), width, height, kind);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_box_async(rows(to, pitch, height), of_array(from, x, y), width, height, kind, stream);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                     size_t from_y, size_t width, size_t height, enum cudaMemcpyKind kind) {
    return copy_box(of_array(to, to_x, to_y), of_array(from, from_x, from_y), width, height, kind);
}

// The one-dimensional array copies are deprecated; a copy within one row is what programs use them for.
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t count,
                              enum cudaMemcpyKind kind) {
    return copy_box(of_array(to, x, y), rows(from, count, 1), count, 1, kind);
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t count,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_box_async(of_array(to, x, y), rows(from, count, 1), count, 1, kind, stream);
}

cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                enum cudaMemcpyKind kind) {
    return copy_box(rows(to, count, 1), of_array(from, x, y), count, 1, kind);
}

cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                     enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_box_async(rows(to, count, 1), of_array(from, x, y), count, 1, kind, stream);
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                   size_t from_y, size_t count, enum cudaMemcpyKind kind) {
    return copy_box(of_array(to, to_x, to_y), of_array(from, from_x, from_y), count, 1, kind);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms* parameters) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (parameters == nullptr) return cudaErrorInvalidValue;
        CUDA_MEMCPY3D copy = {};
        const cudaError_t error = describe_copy(driver, *parameters, &copy);
        if (error != cudaSuccess) return error;
        return to_error(driver.OF_DEFAULT_STREAM(cuMemcpy3D_v3020, cuMemcpy3D_v7000_ptds)(&copy));
    });
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms* parameters, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (parameters == nullptr) return cudaErrorInvalidValue;
        CUDA_MEMCPY3D copy = {};
        const cudaError_t error = describe_copy(driver, *parameters, &copy);
        if (error != cudaSuccess) return error;
        return to_error(driver.OF_DEFAULT_STREAM(cuMemcpy3DAsync_v3020, cuMemcpy3DAsync_v7000_ptsz)(&copy, stream));
    });
}

}  // extern "C"
