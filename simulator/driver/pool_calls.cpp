// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "simulator/driver/graph_memory.h"
#include "simulator/driver/graphs.h"
#include "simulator/driver/pools.h"

using namespace vramtrace::simulator;

namespace {

Device& device_at(const CUmemLocation& location) {
    require(location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    return device_of(location.id);
}

Device& device_at(const CUmemLocation* location, CUmemAllocationType type) {
    require(location != nullptr);
    require(type == CU_MEM_ALLOCATION_TYPE_PINNED, CUDA_ERROR_NOT_SUPPORTED);
    return device_at(*location);
}

CUmemoryPool handle_of(Pool& pool) {
    return PoolTable::handle_of(pool);
}

CUdeviceptr allocate(uint64_t bytes, Pool* pool, CUstream handle) {
    Stream& stream = stream_of(handle);
    if (capturing(stream) != nullptr) {
        // In a capture this is a node: the address is given now, the memory at each launch.
        Node& node = capture_node(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
        CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
        parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        parameters.poolProps.location.id = stream.context->device->ordinal;
        parameters.bytesize = bytes;
        fill_captured(stream, node, [&] { fill_allocation_node(node, parameters); });
        return parameters.dptr;
    }
    refuse_in_capture();
    Pool& from = pool != nullptr ? *pool : current_pool(*stream.context->device);
    Allocation& allocation = allocate_from(from, bytes, &stream.context->owner());
    submit(stream);
    return to_pointer(allocation.base);
}

}  // namespace

SIM_STREAM_API(cuMemAllocAsync, _ptsz, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream),
               (dptr, bytesize, hStream)) {
    require(dptr != nullptr && bytesize != 0);
    *dptr = allocate(bytesize, nullptr, hStream);
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuMemAllocFromPoolAsync, _ptsz,
               (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream),
               (dptr, bytesize, pool, hStream)) {
    require(dptr != nullptr && bytesize != 0);
    *dptr = allocate(bytesize, &pool_of(pool), hStream);
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuMemFreeAsync, _ptsz, (CUdeviceptr dptr, CUstream hStream), (dptr, hStream)) {
    require(dptr != 0);
    Stream& stream = stream_of(hStream);
    if (capturing(stream) != nullptr) {
        Node& node = capture_node(stream, CU_GRAPH_NODE_TYPE_MEM_FREE);
        fill_captured(stream, node, [&] { fill_free_node(node, dptr); });
        return CUDA_SUCCESS;
    }
    refuse_in_capture();
    Allocation* allocation = allocation_at(dptr);
    require(allocation != nullptr);
    switch (allocation->kind) {
        case VRAMTRACE_SIM_STREAM_ORDERED:
        case VRAMTRACE_SIM_DEVICE:
        case VRAMTRACE_SIM_PITCHED:
        case VRAMTRACE_SIM_MANAGED:
        case VRAMTRACE_SIM_POOL_IMPORT:
            submit(stream);
            free_in_stream(*allocation, stream);
            return CUDA_SUCCESS;
        case VRAMTRACE_SIM_GRAPH_MEMORY:
            submit(stream);
            end_graph_memory(dptr);
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

SIM_API(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps* poolProps), (pool, poolProps)) {
    require(pool != nullptr && poolProps != nullptr);
    require(poolProps->allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
    require((poolProps->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0, CUDA_ERROR_NOT_SUPPORTED);
    Device& device = device_at(poolProps->location);
    default_pool(device);
    auto made = std::make_unique<Pool>();
    made->device = &device;
    made->max_bytes = poolProps->maxSize;
    made->handle_types = poolProps->handleTypes;
    Book::Item item;
    item.kind = VRAMTRACE_SIM_POOL;
    item.device = device.ordinal;
    item.address = reinterpret_cast<uint64_t>(made.get());
    item.pool = made.get();
    made->sequence = add_to_book(item);
    *pool = handle_of(pools().add(std::move(made)));
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolDestroy, (CUmemoryPool pool), (pool)) {
    destroy_pool(pool_of(pool));
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolTrimTo, (CUmemoryPool pool, size_t minBytesToKeep), (pool, minBytesToKeep)) {
    refuse_in_capture();
    trim(pool_of(pool), minBytesToKeep);
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void* value), (pool, attr, value)) {
    require(value != nullptr);
    refuse_in_capture();
    Pool& found = pool_of(pool);
    const auto zero_only = [&] { require(*static_cast<cuuint64_t*>(value) == 0); };
    switch (attr) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
            found.reuse[0] = *static_cast<int*>(value);
            break;
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
            found.reuse[1] = *static_cast<int*>(value);
            break;
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            found.reuse[2] = *static_cast<int*>(value);
            break;
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            found.threshold = *static_cast<cuuint64_t*>(value);
            break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            zero_only();
            found.reserved_high = found.reserved;
            break;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            zero_only();
            found.used_high = found.used;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void* value), (pool, attr, value)) {
    require(value != nullptr);
    refuse_in_capture();
    const Pool& found = pool_of(pool);
    switch (attr) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
            *static_cast<int*>(value) = found.reuse[0];
            break;
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
            *static_cast<int*>(value) = found.reuse[1];
            break;
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            *static_cast<int*>(value) = found.reuse[2];
            break;
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            *static_cast<cuuint64_t*>(value) = found.threshold;
            break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
            *static_cast<cuuint64_t*>(value) = found.reserved;
            break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            *static_cast<cuuint64_t*>(value) = found.reserved_high;
            break;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
            *static_cast<cuuint64_t*>(value) = found.used;
            break;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            *static_cast<cuuint64_t*>(value) = found.used_high;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc* map, size_t count), (pool, map, count)) {
    require(map != nullptr || count == 0);
    Pool& found = pool_of(pool);
    for (size_t i = 0; i < count; ++i) {
        const Device& device = device_at(map[i].location);
        require(&device != found.device || map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                CUDA_ERROR_INVALID_DEVICE);
        found.access[device.ordinal] = map[i].flags;
    }
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolGetAccess, (CUmemAccess_flags * flags, CUmemoryPool memPool, CUmemLocation* location),
        (flags, memPool, location)) {
    require(flags != nullptr && location != nullptr);
    const Pool& pool = pool_of(memPool);
    const Device& device = device_at(*location);
    const auto found = pool.access.find(device.ordinal);
    *flags = &device == pool.device       ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : found == pool.access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                                          : found->second;
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool_out, CUdevice dev), (pool_out, dev)) {
    require(pool_out != nullptr);
    *pool_out = handle_of(default_pool(device_of(dev)));
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice dev), (pool, dev)) {
    require(pool != nullptr);
    *pool = handle_of(current_pool(device_of(dev)));
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceSetMemPool, (CUdevice dev, CUmemoryPool pool), (dev, pool)) {
    Device& device = device_of(dev);
    Pool& chosen = pool_of(pool);
    require(chosen.device == &device);
    set_current_pool(device, chosen);
    return CUDA_SUCCESS;
}

SIM_API(cuMemGetDefaultMemPool, (CUmemoryPool * pool_out, CUmemLocation* location, CUmemAllocationType type),
        (pool_out, location, type)) {
    require(pool_out != nullptr);
    *pool_out = handle_of(default_pool(device_at(location, type)));
    return CUDA_SUCCESS;
}

SIM_API(cuMemGetMemPool, (CUmemoryPool * pool, CUmemLocation* location, CUmemAllocationType type),
        (pool, location, type)) {
    require(pool != nullptr);
    *pool = handle_of(current_pool(device_at(location, type)));
    return CUDA_SUCCESS;
}

SIM_API(cuMemSetMemPool, (CUmemLocation * location, CUmemAllocationType type, CUmemoryPool pool),
        (location, type, pool)) {
    Device& device = device_at(location, type);
    Pool& chosen = pool_of(pool);
    require(chosen.device == &device);
    set_current_pool(device, chosen);
    return CUDA_SUCCESS;
}
