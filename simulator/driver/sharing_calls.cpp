// SPDX-License-Identifier: Apache-2.0
// Memory of other processes: IPC handles and pointers of shared pools.
#include <unistd.h>

#include <cstring>

#include "simulator/driver/pools.h"
#include "simulator/driver/sharing.h"

using namespace vramtrace::simulator;

namespace {

template <class Handle>
SharedMemory read_handle(const Handle& handle) {
    SharedMemory shared{};
    std::memcpy(&shared, &handle, sizeof shared);
    require(shared.magic == SharedMemory::kMagic && shared.offset <= shared.file_bytes &&
                shared.bytes <= shared.file_bytes - shared.offset,
            CUDA_ERROR_INVALID_VALUE);
    return shared;
}

Allocation& import(const SharedMemory& shared, uint32_t kind, Context* context, Device& device, Pool* pool) {
    const OpenedMemory opened = open_shared(shared);
    require(opened.address != 0, CUDA_ERROR_INVALID_HANDLE);
    Allocation allocation;
    allocation.kind = kind;
    allocation.base = opened.address + shared.offset;
    allocation.bytes = shared.bytes;
    allocation.piece = {opened.address, 0};
    allocation.mapped_bytes = opened.bytes;
    allocation.context = context;
    allocation.device = &device;
    allocation.pool = pool;
    allocation.opened = 1;
    allocation.import_key = shared.inode ^ (shared.offset << 20);
    return add_allocation(allocation, 0);
}

CUresult open_handle(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int flags) {
    require(pdptr != nullptr && flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    Context& context = current_context().owner();
    const SharedMemory shared = read_handle(handle);
    // A process cannot open its own memory.
    require(shared.pid != getpid(), CUDA_ERROR_INVALID_CONTEXT);
    for (const auto& [base, allocation] : allocations()) {
        if (allocation->kind == VRAMTRACE_SIM_IPC_IMPORT && allocation->context == &context &&
            allocation->import_key == (shared.inode ^ (shared.offset << 20))) {
            allocation->opened += 1;
            *pdptr = to_pointer(base);
            return CUDA_SUCCESS;
        }
    }
    *pdptr = to_pointer(import(shared, VRAMTRACE_SIM_IPC_IMPORT, &context, *context.device, nullptr).base);
    return CUDA_SUCCESS;
}

// What a pool's descriptor says: only which process and pool it is.
struct PoolTicket {
    uint64_t magic;
    int32_t pid;
    int32_t device;
};

}  // namespace

SIM_API(cuIpcGetMemHandle, (CUipcMemHandle * pHandle, CUdeviceptr dptr), (pHandle, dptr)) {
    require(pHandle != nullptr);
    current_context();
    Allocation* allocation = allocation_at(dptr);
    require(allocation != nullptr);
    require(allocation->kind == VRAMTRACE_SIM_DEVICE || allocation->kind == VRAMTRACE_SIM_PITCHED);
    const auto [block, bytes] = allocation->context->heap->block_of(allocation->piece);
    SharedMemory shared{};
    require(share_block(block, bytes, allocation->base, allocation->bytes, allocation->device->ordinal, shared),
            CUDA_ERROR_OUT_OF_MEMORY);
    std::memset(pHandle, 0, sizeof *pHandle);
    std::memcpy(pHandle, &shared, sizeof shared);
    return CUDA_SUCCESS;
}

SIM_API(cuIpcOpenMemHandle, (CUdeviceptr * pdptr, CUipcMemHandle handle, unsigned int Flags), (pdptr, handle, Flags)) {
    return open_handle(pdptr, handle, Flags);
}

SIM_API(cuIpcOpenMemHandle_v2, (CUdeviceptr * pdptr, CUipcMemHandle handle, unsigned int Flags),
        (pdptr, handle, Flags)) {
    return open_handle(pdptr, handle, Flags);
}

SIM_API(cuIpcCloseMemHandle, (CUdeviceptr dptr), (dptr)) {
    current_context();
    Allocation* allocation = allocation_at(dptr);
    require(allocation != nullptr && allocation->kind == VRAMTRACE_SIM_IPC_IMPORT);
    if (--allocation->opened == 0) {
        release(*allocation);
    }
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolExportToShareableHandle,
        (void* handle_out, CUmemoryPool pool, CUmemAllocationHandleType handleType, unsigned long long flags),
        (handle_out, pool, handleType, flags)) {
    require(handle_out != nullptr && flags == 0);
    const Pool& found = pool_of(pool);
    require(handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && (found.handle_types & handleType) != 0);
    const PoolTicket ticket{SharedMemory::kMagic, getpid(), found.device->ordinal};
    const int descriptor = make_shared_file(sizeof ticket);
    require(descriptor >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    if (pwrite(descriptor, &ticket, sizeof ticket, 0) != static_cast<ssize_t>(sizeof ticket)) {
        close(descriptor);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *static_cast<int*>(handle_out) = descriptor;
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolImportFromShareableHandle,
        (CUmemoryPool * pool_out, void* handle, CUmemAllocationHandleType handleType, unsigned long long flags),
        (pool_out, handle, handleType, flags)) {
    require(pool_out != nullptr && flags == 0 && handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    const int descriptor = static_cast<int>(reinterpret_cast<intptr_t>(handle));
    PoolTicket ticket{};
    require(pread(descriptor, &ticket, sizeof ticket, 0) == static_cast<ssize_t>(sizeof ticket) &&
            ticket.magic == SharedMemory::kMagic);
    Device& device = device_of(ticket.device);
    default_pool(device);
    auto made = std::make_unique<Pool>();
    made->device = &device;
    made->imported = true;
    Book::Item item;
    item.kind = VRAMTRACE_SIM_POOL;
    item.device = device.ordinal;
    item.address = reinterpret_cast<uint64_t>(made.get());
    item.pool = made.get();
    made->sequence = add_to_book(item);
    *pool_out = PoolTable::handle_of(pools().add(std::move(made)));
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolExportPointer, (CUmemPoolPtrExportData * shareData_out, CUdeviceptr ptr), (shareData_out, ptr)) {
    require(shareData_out != nullptr);
    Allocation* allocation = allocation_at(ptr);
    require(allocation != nullptr && allocation->kind == VRAMTRACE_SIM_STREAM_ORDERED);
    require((allocation->pool->handle_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0);
    const auto slab = std::prev(allocation->pool->space.slabs().upper_bound(ptr));
    SharedMemory shared{};
    require(share_block(slab->first, slab->second, allocation->base, allocation->bytes, allocation->device->ordinal,
                        shared),
            CUDA_ERROR_OUT_OF_MEMORY);
    std::memset(shareData_out, 0, sizeof *shareData_out);
    std::memcpy(shareData_out, &shared, sizeof shared);
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolImportPointer, (CUdeviceptr * ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData* shareData),
        (ptr_out, pool, shareData)) {
    require(ptr_out != nullptr && shareData != nullptr);
    Pool& found = pool_of(pool);
    require(found.imported);
    const SharedMemory shared = read_handle(*shareData);
    *ptr_out = to_pointer(import(shared, VRAMTRACE_SIM_POOL_IMPORT, nullptr, *found.device, &found).base);
    return CUDA_SUCCESS;
}
