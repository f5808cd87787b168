// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/copy_parameters.h"

#include "simulator/runtime/array_format.h"

namespace vramtrace::simulator::runtime {

CUmemorytype memory_type_of_source(cudaMemcpyKind kind) {
    switch (kind) {
        case cudaMemcpyHostToHost:
        case cudaMemcpyHostToDevice:
            return CU_MEMORYTYPE_HOST;
        case cudaMemcpyDeviceToHost:
        case cudaMemcpyDeviceToDevice:
            return CU_MEMORYTYPE_DEVICE;
        case cudaMemcpyDefault:
            break;
    }
    return CU_MEMORYTYPE_UNIFIED;
}

CUmemorytype memory_type_of_destination(cudaMemcpyKind kind) {
    switch (kind) {
        case cudaMemcpyHostToHost:
        case cudaMemcpyDeviceToHost:
            return CU_MEMORYTYPE_HOST;
        case cudaMemcpyHostToDevice:
        case cudaMemcpyDeviceToDevice:
            return CU_MEMORYTYPE_DEVICE;
        case cudaMemcpyDefault:
            break;
    }
    return CU_MEMORYTYPE_UNIFIED;
}

CUDA_MEMCPY3D describe_copy(const CopySide& to, const CopySide& from, size_t width_bytes, size_t height, size_t depth,
                            cudaMemcpyKind kind) {
    CUDA_MEMCPY3D copy = {};
    copy.srcXInBytes = from.x_bytes;
    copy.srcY = from.y;
    copy.srcZ = from.z;
    if (from.array != nullptr) {
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcArray = driver_array(from.array);
    } else {
        copy.srcMemoryType = memory_type_of_source(kind);
        copy.srcHost = from.pointer;
        copy.srcDevice = device_address(from.pointer);
        copy.srcPitch = from.pitch;
        copy.srcHeight = from.rows;
    }
    copy.dstXInBytes = to.x_bytes;
    copy.dstY = to.y;
    copy.dstZ = to.z;
    if (to.array != nullptr) {
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.dstArray = driver_array(to.array);
    } else {
        copy.dstMemoryType = memory_type_of_destination(kind);
        copy.dstHost = const_cast<void*>(to.pointer);
        copy.dstDevice = device_address(to.pointer);
        copy.dstPitch = to.pitch;
        copy.dstHeight = to.rows;
    }
    copy.WidthInBytes = width_bytes;
    copy.Height = height;
    copy.Depth = depth;
    return copy;
}

cudaError_t describe_copy(const DriverCalls& driver, const cudaMemcpy3DParms& parameters, CUDA_MEMCPY3D* copy) {
    size_t element = 1;
    const cudaArray_const_t array = parameters.srcArray != nullptr ? parameters.srcArray : parameters.dstArray;
    if (array != nullptr) {
        CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
        const CUresult result = driver.cuArray3DGetDescriptor_v3020(&descriptor, driver_array(array));
        if (result != CUDA_SUCCESS) return to_error(result);
        element = element_bytes(descriptor);
    }
    CopySide from;
    from.pointer = parameters.srcPtr.ptr;
    from.pitch = parameters.srcPtr.pitch;
    from.rows = parameters.srcPtr.ysize;
    from.array = parameters.srcArray;
    from.x_bytes = parameters.srcPos.x * element;
    from.y = parameters.srcPos.y;
    from.z = parameters.srcPos.z;
    CopySide to;
    to.pointer = parameters.dstPtr.ptr;
    to.pitch = parameters.dstPtr.pitch;
    to.rows = parameters.dstPtr.ysize;
    to.array = parameters.dstArray;
    to.x_bytes = parameters.dstPos.x * element;
    to.y = parameters.dstPos.y;
    to.z = parameters.dstPos.z;
    const cudaExtent& extent = parameters.extent;
    *copy = describe_copy(to, from, extent.width * element, extent.height, extent.depth, parameters.kind);
    return cudaSuccess;
}

}  // namespace vramtrace::simulator::runtime
