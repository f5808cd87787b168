// SPDX-License-Identifier: Apache-2.0
// Device, managed and host memory, IPC and external memory, and questions about pointers.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

#include "simulator/runtime/names_12.h"

#include <cstring>

using namespace vramtrace::simulator::runtime;

extern "C" {

// ---- device and managed memory ----

cudaError_t cudaMalloc(void** pointer, size_t size) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (pointer == nullptr) return cudaErrorInvalidValue;
        *pointer = nullptr;
        if (size == 0) return cudaSuccess;
        return to_error(driver.cuMemAlloc_v3020(device_address_out(pointer), size));
    });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (pointer == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
        *pointer = nullptr;
        *pitch = 0;
        if (width == 0 || height == 0) return cudaSuccess;
        return to_error(driver.cuMemAllocPitch_v3020(device_address_out(pointer), pitch, width, height, 4));
    });
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr* pitched, struct cudaExtent extent) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (pitched == nullptr) return cudaErrorInvalidValue;
        *pitched = cudaPitchedPtr{nullptr, 0, extent.width, extent.height};
        const size_t rows = extent.height * extent.depth;
        if (extent.width == 0 || rows == 0) return cudaSuccess;
        return to_error(
            driver.cuMemAllocPitch_v3020(device_address_out(&pitched->ptr), &pitched->pitch, extent.width, rows, 4));
    });
}

cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) {
        if (pointer == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
        return driver.cuMemAllocManaged_v6000(device_address_out(pointer), size, flags);
    });
}

cudaError_t cudaFree(void* pointer) {
    // The null pointer too goes to the driver: cudaFree(0) is the customary way to start a context.
    return with_context([&](const DriverCalls& driver) { return driver.cuMemFree_v3020(device_address(pointer)); });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    return with_context([&](const DriverCalls& driver) { return driver.cuMemGetInfo_v3020(free_bytes, total_bytes); });
}

// ---- host memory ----

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (pointer == nullptr) return cudaErrorInvalidValue;
        *pointer = nullptr;
        if (size == 0) return cudaSuccess;
        return to_error(driver.cuMemHostAlloc_v2020(pointer, size, flags));
    });
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (pointer == nullptr) return cudaErrorInvalidValue;
        *pointer = nullptr;
        if (size == 0) return cudaSuccess;
        return to_error(driver.cuMemHostAlloc_v2020(pointer, size, 0));
    });
}

cudaError_t cudaFreeHost(void* pointer) {
    return with_context([&](const DriverCalls& driver) {
        return pointer == nullptr ? CUDA_SUCCESS : driver.cuMemFreeHost_v2000(pointer);
    });
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned int flags) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuMemHostRegister_v6050(pointer, size, flags); });
}

cudaError_t cudaHostUnregister(void* pointer) {
    return with_context([&](const DriverCalls& driver) { return driver.cuMemHostUnregister_v4000(pointer); });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemHostGetDevicePointer_v3020(device_address_out(device), host, flags);
    });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* host) {
    return with_context([&](const DriverCalls& driver) { return driver.cuMemHostGetFlags_v2030(flags, host); });
}

// ---- sharing ----

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
    static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle));
    return with_context([&](const DriverCalls& driver) {
        return driver.cuIpcGetMemHandle_v4010(reinterpret_cast<CUipcMemHandle*>(handle), device_address(pointer));
    });
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) {
        CUipcMemHandle driver_handle;
        std::memcpy(&driver_handle, &handle, sizeof handle);
        return driver.cuIpcOpenMemHandle_v11000(device_address_out(pointer), driver_handle, flags);
    });
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuIpcCloseMemHandle_v4010(device_address(pointer)); });
}

cudaError_t cudaImportExternalMemory(cudaExternalMemory_t* memory, const struct cudaExternalMemoryHandleDesc* desc) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (memory == nullptr || desc == nullptr) return cudaErrorInvalidValue;
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC driver_desc = {};
        driver_desc.type = static_cast<CUexternalMemoryHandleType>(desc->type);
        static_assert(sizeof driver_desc.handle == sizeof desc->handle);
        std::memcpy(&driver_desc.handle, &desc->handle, sizeof desc->handle);
        driver_desc.size = desc->size;
        driver_desc.flags = desc->flags;
        return to_error(
            driver.cuImportExternalMemory_v10000(reinterpret_cast<CUexternalMemory*>(memory), &driver_desc));
    });
}

cudaError_t cudaExternalMemoryGetMappedBuffer(void** pointer, cudaExternalMemory_t memory,
                                              const struct cudaExternalMemoryBufferDesc* desc) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (desc == nullptr) return cudaErrorInvalidValue;
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC driver_desc = {};
        driver_desc.offset = desc->offset;
        driver_desc.size = desc->size;
        driver_desc.flags = desc->flags;
        return to_error(driver.cuExternalMemoryGetMappedBuffer_v10000(
            device_address_out(pointer), reinterpret_cast<CUexternalMemory>(memory), &driver_desc));
    });
}

cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t memory) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuDestroyExternalMemory_v10000(reinterpret_cast<CUexternalMemory>(memory));
    });
}

// ---- questions and hints ----

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* pointer) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (attributes == nullptr) return cudaErrorInvalidValue;
        const CUdeviceptr address = device_address(pointer);
        unsigned int memory_type = 0;
        unsigned int managed = 0;
        int device = -2;
        CUdeviceptr device_pointer = 0;
        void* host_pointer = nullptr;
        CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                        CU_POINTER_ATTRIBUTE_HOST_POINTER};
        void* places[] = {&memory_type, &managed, &device, &device_pointer, &host_pointer};
        *attributes = {};
        const CUresult result = driver.cuPointerGetAttributes_v7000(5, wanted, places, address);
        if (result != CUDA_SUCCESS) return to_error(result);
        if (memory_type == 0) {  // unknown to the driver: ordinary host memory, which is no error since CUDA 11
            attributes->type = cudaMemoryTypeUnregistered;
            attributes->device = -1;
            attributes->hostPointer = const_cast<void*>(pointer);
            return cudaSuccess;
        }
        attributes->type = managed != 0                        ? cudaMemoryTypeManaged
                           : memory_type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                                                               : cudaMemoryTypeDevice;
        attributes->device = device;
        attributes->devicePointer = reinterpret_cast<void*>(device_pointer);
        attributes->hostPointer = host_pointer;
        return cudaSuccess;
    });
}

cudaError_t cudaMemRangeGetAttribute(void* data, size_t size, enum cudaMemRangeAttribute attribute, const void* pointer,
                                     size_t count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemRangeGetAttribute_v8000(data, size, static_cast<CUmem_range_attribute>(attribute),
                                                   device_address(pointer), count);
    });
}

cudaError_t cudaMemAdvise(const void* pointer, size_t count, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location) {
    return with_context([&](const DriverCalls& driver) {
        CUmemLocation driver_location = {};
        driver_location.type = static_cast<CUmemLocationType>(location.type);
        driver_location.id = location.id;
        return driver.cuMemAdvise_v12020(device_address(pointer), count, static_cast<CUmem_advise>(advice),
                                         driver_location);
    });
}

}  // extern "C"
