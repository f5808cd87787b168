// SPDX-License-Identifier: Apache-2.0
// Every copy that is not a plain run of bytes becomes one driver CUDA_MEMCPY3D.
#pragma once

#include "simulator/runtime/api_call.h"

namespace vramtrace::simulator::runtime {

/// One side of a copy: either rows in memory or an array.
struct CopySide {
    const void* pointer = nullptr;
    size_t pitch = 0;
    size_t rows = 0;  // rows of one slice in memory
    cudaArray_const_t array = nullptr;
    size_t x_bytes = 0;
    size_t y = 0;
    size_t z = 0;
};

/// Where the side named by `kind` lies for the driver: cudaMemcpyDefault lets the driver find out by address.
CUmemorytype memory_type_of_source(cudaMemcpyKind kind);
CUmemorytype memory_type_of_destination(cudaMemcpyKind kind);

CUDA_MEMCPY3D describe_copy(const CopySide& to, const CopySide& from, size_t width_bytes, size_t height, size_t depth,
                            cudaMemcpyKind kind);

/// From the runtime's 3D description, whose widths and positions count elements when an array takes part.
cudaError_t describe_copy(const DriverCalls& driver, const cudaMemcpy3DParms& parameters, CUDA_MEMCPY3D* copy);

}  // namespace vramtrace::simulator::runtime
