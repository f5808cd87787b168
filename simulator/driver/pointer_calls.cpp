// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "simulator/driver/pools.h"
#include "simulator/driver/virtual_memory.h"

using namespace vramtrace::simulator;

namespace {

// What is known of the memory at an address.
struct Found {
    const Allocation* allocation = nullptr;
    FoundMapping mapped{0, nullptr};

    bool known() const { return allocation != nullptr || mapped.mapping != nullptr; }
    bool host() const { return allocation != nullptr && is_host_kind(allocation->kind); }
    bool managed() const { return allocation != nullptr && allocation->managed; }
    uint64_t base() const { return allocation != nullptr ? allocation->base : mapped.base; }
    uint64_t bytes() const { return allocation != nullptr ? allocation->bytes : mapped.mapping->bytes; }
    Context* context() const { return allocation != nullptr ? allocation->context : nullptr; }
    int device() const {
        return allocation != nullptr ? allocation->device->ordinal : mapped.mapping->physical->device->ordinal;
    }
};

Found find(CUdeviceptr pointer) {
    Found found;
    found.allocation = allocation_containing(pointer);
    if (found.allocation == nullptr) {
        found.mapped = mapping_containing(pointer);
    }
    return found;
}

template <class Value>
CUresult give(void* data, Value value) {
    *static_cast<Value*>(data) = value;
    return CUDA_SUCCESS;
}

CUresult attribute(void* data, CUpointer_attribute which, CUdeviceptr pointer, const Found& found) {
    const bool device_memory = !found.host();
    const Pool* pool = found.allocation != nullptr ? found.allocation->pool : nullptr;
    switch (which) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            return give<CUcontext>(data, found.context() == nullptr ? nullptr : found.context()->handle());
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return give<unsigned int>(data, device_memory ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return give<CUdeviceptr>(data, pointer);
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            require(found.host() || found.managed());
            return give<void*>(data, reinterpret_cast<void*>(pointer));
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            return give<int>(data, 0);
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            return give<unsigned long long>(
                data, found.allocation != nullptr ? found.allocation->buffer_id : found.mapped.mapping->sequence);
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return give<unsigned int>(data, found.managed() ? 1 : 0);
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return give<int>(data, found.device());
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            return give<int>(data, found.allocation != nullptr && found.allocation->kind == VRAMTRACE_SIM_DEVICE);
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            return give<CUdeviceptr>(data, found.base());
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            return give<size_t>(data, found.bytes());
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return give<unsigned int>(data, 1);
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            return give<unsigned int>(data, found.mapped.mapping != nullptr
                                                ? found.mapped.mapping->physical->properties.requestedHandleTypes
                                                : (pool != nullptr ? pool->handle_types : CU_MEM_HANDLE_TYPE_NONE));
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
            return give<int>(data, 0);
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return give<int>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return give<CUmemoryPool>(data, pool == nullptr ? nullptr : PoolTable::handle_of(*pool));
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
            return give<size_t>(data, found.bytes());
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
            return give<CUdeviceptr>(data, found.base());
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
            return give<unsigned long long>(
                data, found.allocation != nullptr ? found.allocation->buffer_id : found.mapped.mapping->sequence);
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

size_t size_of(CUpointer_attribute which) {
    switch (which) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
            return 8;
        default:
            return 4;
    }
}

CUresult hint(CUdeviceptr pointer, size_t count) {
    require(count != 0);
    const Found found = find(pointer);
    require(found.managed() && count <= found.bytes() - (pointer - found.base()));
    return CUDA_SUCCESS;
}

CUresult prefetch(CUdeviceptr pointer, size_t count, CUstream stream) {
    hint(pointer, count);
    work_on(stream);
    return CUDA_SUCCESS;
}

CUresult prefetch_all(const CUdeviceptr* pointers, const size_t* sizes, size_t count, CUstream stream) {
    require(pointers != nullptr && sizes != nullptr && count != 0);
    for (size_t i = 0; i < count; ++i) {
        prefetch(pointers[i], sizes[i], stream);
    }
    return CUDA_SUCCESS;
}

CUresult range_attribute(void* data, size_t size, CUmem_range_attribute which, CUdeviceptr pointer, size_t count) {
    require(data != nullptr && size >= sizeof(int));
    hint(pointer, count);
    std::memset(data, 0, size);
    const bool place =
        which == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION || which == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
    if (place) {
        *static_cast<int*>(data) = CU_DEVICE_INVALID;
    }
    return CUDA_SUCCESS;
}

}  // namespace

SIM_API(cuPointerGetAttribute, (void* data, CUpointer_attribute attr, CUdeviceptr ptr), (data, attr, ptr)) {
    require(data != nullptr);
    const Found found = find(ptr);
    require(found.known());
    return attribute(data, attr, ptr, found);
}

SIM_API(cuPointerGetAttributes,
        (unsigned int numAttributes, CUpointer_attribute* attributes, void** data, CUdeviceptr ptr),
        (numAttributes, attributes, data, ptr)) {
    require(attributes != nullptr && data != nullptr && numAttributes != 0);
    const Found found = find(ptr);
    for (unsigned int i = 0; i < numAttributes; ++i) {
        require(data[i] != nullptr);
        std::memset(data[i], 0, size_of(attributes[i]));
        // Memory the driver does not know is no error here: the answers say so.
        if (!found.known()) {
            if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
                give<int>(data[i], CU_DEVICE_INVALID);
            }
            continue;
        }
        try {
            attribute(data[i], attributes[i], ptr, found);
        } catch (const Refusal&) {
            continue;
        }
    }
    return CUDA_SUCCESS;
}

SIM_API(cuPointerSetAttribute, (const void* value, CUpointer_attribute attr, CUdeviceptr ptr), (value, attr, ptr)) {
    require(value != nullptr && attr == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && find(ptr).known());
    return CUDA_SUCCESS;
}

SIM_API(cuMemAdvise, (CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device),
        (devPtr, count, advice, device)) {
    return hint(devPtr, count);
}

SIM_API(cuMemAdvise_v2, (CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location),
        (devPtr, count, advice, location)) {
    return hint(devPtr, count);
}

SIM_STREAM_API(cuMemPrefetchAsync, _ptsz, (CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream),
               (devPtr, count, dstDevice, hStream)) {
    return prefetch(devPtr, count, hStream);
}

SIM_STREAM_API(cuMemPrefetchAsync_v2, _ptsz,
               (CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags, CUstream hStream),
               (devPtr, count, location, flags, hStream)) {
    return prefetch(devPtr, count, hStream);
}

SIM_STREAM_API(cuMemPrefetchBatchAsync, _ptsz,
               (CUdeviceptr * dptrs, size_t* sizes, size_t count, CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                size_t numPrefetchLocs, unsigned long long flags, CUstream hStream),
               (dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream)) {
    return prefetch_all(dptrs, sizes, count, hStream);
}

SIM_STREAM_API(cuMemDiscardBatchAsync, _ptsz,
               (CUdeviceptr * dptrs, size_t* sizes, size_t count, unsigned long long flags, CUstream hStream),
               (dptrs, sizes, count, flags, hStream)) {
    return prefetch_all(dptrs, sizes, count, hStream);
}

SIM_STREAM_API(cuMemDiscardAndPrefetchBatchAsync, _ptsz,
               (CUdeviceptr * dptrs, size_t* sizes, size_t count, CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                size_t numPrefetchLocs, unsigned long long flags, CUstream hStream),
               (dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream)) {
    return prefetch_all(dptrs, sizes, count, hStream);
}

SIM_API(cuMemRangeGetAttribute,
        (void* data, size_t dataSize, CUmem_range_attribute attr, CUdeviceptr devPtr, size_t count),
        (data, dataSize, attr, devPtr, count)) {
    return range_attribute(data, dataSize, attr, devPtr, count);
}

SIM_API(cuMemRangeGetAttributes,
        (void** data, size_t* dataSizes, CUmem_range_attribute* attributes, size_t numAttributes, CUdeviceptr devPtr,
         size_t count),
        (data, dataSizes, attributes, numAttributes, devPtr, count)) {
    require(data != nullptr && dataSizes != nullptr && attributes != nullptr && numAttributes != 0);
    for (size_t i = 0; i < numAttributes; ++i) {
        range_attribute(data[i], dataSizes[i], attributes[i], devPtr, count);
    }
    return CUDA_SUCCESS;
}
