// SPDX-License-Identifier: Apache-2.0
// Memory pools.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <vector>

using namespace vramtrace::simulator::runtime;

namespace {

CUmemLocation driver_location(const cudaMemLocation& location) {
    CUmemLocation result = {};
    result.type = static_cast<CUmemLocationType>(location.type);
    result.id = location.id;
    return result;
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    return with_driver(
        [&](const DriverCalls& driver) { return driver.cuDeviceGetDefaultMemPool_v11020(pool, device); });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return with_driver([&](const DriverCalls& driver) { return driver.cuDeviceGetMemPool_v11020(pool, device); });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    return with_driver([&](const DriverCalls& driver) { return driver.cuDeviceSetMemPool_v11020(device, pool); });
}

#if SIMULATED_CUDART_MAJOR >= 13
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, struct cudaMemLocation* location,
                                     enum cudaMemAllocationType type) {
    return with_driver([&](const DriverCalls& driver) {
        if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUmemLocation place = driver_location(*location);
        return driver.cuMemGetDefaultMemPool_v13000(pool, &place, static_cast<CUmemAllocationType>(type));
    });
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, struct cudaMemLocation* location, enum cudaMemAllocationType type) {
    return with_driver([&](const DriverCalls& driver) {
        if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUmemLocation place = driver_location(*location);
        return driver.cuMemGetMemPool_v13000(pool, &place, static_cast<CUmemAllocationType>(type));
    });
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation* location, enum cudaMemAllocationType type, cudaMemPool_t pool) {
    return with_driver([&](const DriverCalls& driver) {
        if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUmemLocation place = driver_location(*location);
        return driver.cuMemSetMemPool_v13000(&place, static_cast<CUmemAllocationType>(type), pool);
    });
}
#endif

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const struct cudaMemPoolProps* properties) {
    return with_context([&](const DriverCalls& driver) {
        if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUmemPoolProps wanted = {};
        wanted.allocType = static_cast<CUmemAllocationType>(properties->allocType);
        wanted.handleTypes = static_cast<CUmemAllocationHandleType>(properties->handleTypes);
        wanted.location = driver_location(properties->location);
        wanted.win32SecurityAttributes = properties->win32SecurityAttributes;
        wanted.maxSize = properties->maxSize;
        wanted.usage = properties->usage;
        return driver.cuMemPoolCreate_v11020(pool, &wanted);
    });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return with_context([&](const DriverCalls& driver) { return driver.cuMemPoolDestroy_v11020(pool); });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
    return with_context([&](const DriverCalls& driver) { return driver.cuMemPoolTrimTo_v11020(pool, keep); });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void* value) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemPoolSetAttribute_v11020(pool, static_cast<CUmemPool_attribute>(attribute), value);
    });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void* value) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemPoolGetAttribute_v11020(pool, static_cast<CUmemPool_attribute>(attribute), value);
    });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc* descriptions, size_t count) {
    return with_context([&](const DriverCalls& driver) {
        if (descriptions == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::vector<CUmemAccessDesc> wanted(count);
        for (size_t i = 0; i < count; ++i) {
            wanted[i].location = driver_location(descriptions[i].location);
            wanted[i].flags = static_cast<CUmemAccess_flags>(descriptions[i].flags);
        }
        return driver.cuMemPoolSetAccess_v11020(pool, wanted.data(), count);
    });
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags* flags, cudaMemPool_t pool, struct cudaMemLocation* location) {
    return with_context([&](const DriverCalls& driver) {
        if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUmemLocation place = driver_location(*location);
        return driver.cuMemPoolGetAccess_v11020(reinterpret_cast<CUmemAccess_flags*>(flags), pool, &place);
    });
}

cudaError_t cudaMemPoolExportToShareableHandle(void* handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type,
                                               unsigned int flags) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemPoolExportToShareableHandle_v11020(handle, pool,
                                                              static_cast<CUmemAllocationHandleType>(type), flags);
    });
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* handle,
                                                 enum cudaMemAllocationHandleType type, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemPoolImportFromShareableHandle_v11020(pool, handle,
                                                                static_cast<CUmemAllocationHandleType>(type), flags);
    });
}

static_assert(sizeof(cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData));

cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData* data, void* pointer) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemPoolExportPointer_v11020(reinterpret_cast<CUmemPoolPtrExportData*>(data),
                                                    device_address(pointer));
    });
}

cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t pool, struct cudaMemPoolPtrExportData* data) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemPoolImportPointer_v11020(device_address_out(pointer), pool,
                                                    reinterpret_cast<CUmemPoolPtrExportData*>(data));
    });
}

}  // extern "C"
