// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmapped arrays.
#include "simulator/runtime/array_format.h"

#include <cuda_runtime_api.h>

using namespace vramtrace::simulator::runtime;

namespace {

cudaError_t create_array(cudaArray_t* array, const cudaChannelFormatDesc* channels, cudaExtent extent,
                         unsigned int flags) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (array == nullptr || channels == nullptr) return cudaErrorInvalidValue;
        CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
        if (!describe_channels(*channels, &descriptor)) return cudaErrorInvalidChannelDescriptor;
        descriptor.Width = extent.width;
        descriptor.Height = extent.height;
        descriptor.Depth = extent.depth;
        descriptor.Flags = flags;  // the flags' values are the driver's
        return to_error(driver.cuArray3DCreate_v3020(reinterpret_cast<CUarray*>(array), &descriptor));
    });
}

}  // namespace

extern "C" {

cudaError_t cudaMallocArray(cudaArray_t* array, const struct cudaChannelFormatDesc* channels, size_t width,
                            size_t height, unsigned int flags) {
    return create_array(array, channels, cudaExtent{width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const struct cudaChannelFormatDesc* channels,
                              struct cudaExtent extent, unsigned int flags) {
    return create_array(array, channels, extent, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
    return with_context([&](const DriverCalls& driver) {
        return array == nullptr ? CUDA_SUCCESS : driver.cuArrayDestroy_v2000(driver_array(array));
    });
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmap, const struct cudaChannelFormatDesc* channels,
                                     struct cudaExtent extent, unsigned int levels, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (mipmap == nullptr || channels == nullptr) return cudaErrorInvalidValue;
        CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
        if (!describe_channels(*channels, &descriptor)) return cudaErrorInvalidChannelDescriptor;
        descriptor.Width = extent.width;
        descriptor.Height = extent.height;
        descriptor.Depth = extent.depth;
        descriptor.Flags = flags;
        return to_error(
            driver.cuMipmappedArrayCreate_v5000(reinterpret_cast<CUmipmappedArray*>(mipmap), &descriptor, levels));
    });
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap) {
    return with_context([&](const DriverCalls& driver) {
        if (mipmap == nullptr) return CUDA_SUCCESS;
        return driver.cuMipmappedArrayDestroy_v5000(reinterpret_cast<CUmipmappedArray>(mipmap));
    });
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level_array, cudaMipmappedArray_const_t mipmap,
                                       unsigned int level) {
    return with_context([&](const DriverCalls& driver) {
        auto handle = reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray_t>(mipmap));
        return driver.cuMipmappedArrayGetLevel_v5000(reinterpret_cast<CUarray*>(level_array), handle, level);
    });
}

cudaError_t cudaArrayGetPlane(cudaArray_t* plane, cudaArray_t array, unsigned int index) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuArrayGetPlane_v11020(reinterpret_cast<CUarray*>(plane), driver_array(array), index);
    });
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc* channels, struct cudaExtent* extent, unsigned int* flags,
                             cudaArray_t array) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
        const CUresult result = driver.cuArray3DGetDescriptor_v3020(&descriptor, driver_array(array));
        if (result != CUDA_SUCCESS) return to_error(result);
        if (channels != nullptr) *channels = channels_of(descriptor);
        if (extent != nullptr) *extent = cudaExtent{descriptor.Width, descriptor.Height, descriptor.Depth};
        if (flags != nullptr) *flags = descriptor.Flags;
        return cudaSuccess;
    });
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc* channels, cudaArray_const_t array) {
    return cudaArrayGetInfo(channels, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind) {
    return cudaChannelFormatDesc{x, y, z, w, kind};
}

cudaError_t cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements* requirements, cudaArray_t array,
                                           int device) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (requirements == nullptr) return cudaErrorInvalidValue;
        CUDA_ARRAY_MEMORY_REQUIREMENTS answer = {};
        const CUresult result = driver.cuArrayGetMemoryRequirements_v11060(&answer, driver_array(array), device);
        *requirements = {};
        requirements->size = answer.size;
        requirements->alignment = answer.alignment;
        return to_error(result);
    });
}

cudaError_t cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements* requirements,
                                                    cudaMipmappedArray_t mipmap, int device) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (requirements == nullptr) return cudaErrorInvalidValue;
        CUDA_ARRAY_MEMORY_REQUIREMENTS answer = {};
        const CUresult result = driver.cuMipmappedArrayGetMemoryRequirements_v11060(
            &answer, reinterpret_cast<CUmipmappedArray>(mipmap), device);
        *requirements = {};
        requirements->size = answer.size;
        requirements->alignment = answer.alignment;
        return to_error(result);
    });
}

cudaError_t cudaExternalMemoryGetMappedMipmappedArray(cudaMipmappedArray_t* mipmap, cudaExternalMemory_t memory,
                                                      const struct cudaExternalMemoryMipmappedArrayDesc* desc) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (mipmap == nullptr || desc == nullptr) return cudaErrorInvalidValue;
        CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC driver_desc = {};
        driver_desc.offset = desc->offset;
        driver_desc.numLevels = desc->numLevels;
        CUDA_ARRAY3D_DESCRIPTOR& descriptor = driver_desc.arrayDesc;
        if (!describe_channels(desc->formatDesc, &descriptor)) return cudaErrorInvalidChannelDescriptor;
        descriptor.Width = desc->extent.width;
        descriptor.Height = desc->extent.height;
        descriptor.Depth = desc->extent.depth;
        descriptor.Flags = desc->flags;
        return to_error(driver.cuExternalMemoryGetMappedMipmappedArray_v10000(
            reinterpret_cast<CUmipmappedArray*>(mipmap), reinterpret_cast<CUexternalMemory>(memory), &driver_desc));
    });
}

}  // extern "C"
