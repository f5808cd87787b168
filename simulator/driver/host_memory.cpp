// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/host_memory.h"

#include "simulator/driver/allocations.h"
#include "simulator/driver/streams.h"

using namespace vramtrace::simulator;

namespace vramtrace::simulator {

PagedHeap& pinned_heap() {
    static auto* const heap = new PagedHeap(Machine::get().host_arena, Machine::get().host_memory);
    return *heap;
}

}  // namespace vramtrace::simulator

namespace {

constexpr unsigned int kHostFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned int kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                        CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

void* allocate(uint64_t bytes, unsigned int flags) {
    Context& context = current_context().owner();
    refuse_in_capture();
    const auto piece = pinned_heap().allocate(bytes);
    require(piece.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
    Allocation allocation;
    allocation.kind = VRAMTRACE_SIM_HOST;
    allocation.base = piece->address;
    allocation.bytes = bytes;
    allocation.piece = *piece;
    allocation.context = &context;
    allocation.device = context.device;
    allocation.flags = flags;
    return reinterpret_cast<void*>(add_allocation(allocation, bytes).base);
}

CUresult register_memory(void* p, uint64_t bytes, unsigned int flags) {
    require(p != nullptr && bytes != 0 && (flags & ~kRegisterFlags) == 0);
    Context& context = current_context().owner();
    refuse_in_capture();
    const auto base = reinterpret_cast<uint64_t>(p);
    require(base + bytes > base);
    const auto next = allocations().lower_bound(base);
    const bool overlaps_next = next != allocations().end() && next->first < base + bytes;
    require(allocation_containing(base) == nullptr && !overlaps_next, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    Allocation allocation;
    allocation.kind = VRAMTRACE_SIM_HOST_REGISTERED;
    allocation.base = base;
    allocation.bytes = bytes;
    allocation.context = &context;
    allocation.device = context.device;
    allocation.flags = flags;
    add_allocation(allocation, bytes);
    return CUDA_SUCCESS;
}

Allocation& host_range(void* p) {
    Allocation* allocation = allocation_containing(reinterpret_cast<uint64_t>(p));
    require(allocation != nullptr && is_host_kind(allocation->kind));
    return *allocation;
}

}  // namespace

SIM_API(cuMemAllocHost_v2, (void** pp, size_t bytesize), (pp, bytesize)) {
    require(pp != nullptr && bytesize != 0);
    *pp = allocate(bytesize, 0);
    return CUDA_SUCCESS;
}

SIM_API(cuMemAllocHost, (void** pp, unsigned int bytesize), (pp, bytesize)) {
    require(pp != nullptr && bytesize != 0);
    *pp = allocate(bytesize, 0);
    return CUDA_SUCCESS;
}

SIM_API(cuMemHostAlloc, (void** pp, size_t bytesize, unsigned int Flags), (pp, bytesize, Flags)) {
    require(pp != nullptr && bytesize != 0 && (Flags & ~kHostFlags) == 0);
    *pp = allocate(bytesize, Flags);
    return CUDA_SUCCESS;
}

SIM_API(cuMemFreeHost, (void* p), (p)) {
    refuse_in_capture();
    Allocation* allocation = allocation_at(reinterpret_cast<uint64_t>(p));
    require(p != nullptr && allocation != nullptr && allocation->kind == VRAMTRACE_SIM_HOST);
    release(*allocation);
    return CUDA_SUCCESS;
}

SIM_API(cuMemHostRegister, (void* p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags)) {
    return register_memory(p, bytesize, Flags);
}

SIM_API(cuMemHostRegister_v2, (void* p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags)) {
    return register_memory(p, bytesize, Flags);
}

SIM_API(cuMemHostUnregister, (void* p), (p)) {
    refuse_in_capture();
    require(p != nullptr);
    Allocation* allocation = allocation_at(reinterpret_cast<uint64_t>(p));
    require(allocation != nullptr && allocation->kind == VRAMTRACE_SIM_HOST_REGISTERED,
            CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    release(*allocation);
    return CUDA_SUCCESS;
}

SIM_API(cuMemHostGetDevicePointer_v2, (CUdeviceptr * pdptr, void* p, unsigned int Flags), (pdptr, p, Flags)) {
    require(pdptr != nullptr && p != nullptr && Flags == 0);
    current_context();
    host_range(p);
    *pdptr = to_pointer(reinterpret_cast<uint64_t>(p));
    return CUDA_SUCCESS;
}

SIM_API(cuMemHostGetFlags, (unsigned int* pFlags, void* p), (pFlags, p)) {
    require(pFlags != nullptr && p != nullptr);
    const Allocation& allocation = host_range(p);
    require(allocation.kind == VRAMTRACE_SIM_HOST);
    *pFlags = allocation.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
