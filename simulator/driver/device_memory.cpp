// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "simulator/driver/allocations.h"
#include "simulator/driver/graph_memory.h"
#include "simulator/driver/streams.h"

using namespace vramtrace::simulator;

namespace {

constexpr uint64_t kPitchAlignment = 512;

CUdeviceptr allocate(uint64_t bytes, uint32_t kind) {
    Context& context = current_context().owner();
    refuse_in_capture();
    const auto piece = context.heap->allocate(bytes);
    require(piece.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
    Allocation allocation;
    allocation.kind = kind;
    allocation.base = piece->address;
    allocation.bytes = bytes;
    allocation.piece = *piece;
    allocation.context = &context;
    allocation.device = context.device;
    return to_pointer(add_allocation(allocation, bytes).base);
}

}  // namespace

SIM_API(cuMemGetInfo_v2, (size_t * free, size_t* total), (free, total)) {
    require(free != nullptr && total != nullptr);
    const PhysicalMemory& memory = current_context().device->memory;
    *free = memory.total() - memory.used();
    *total = memory.total();
    return CUDA_SUCCESS;
}

SIM_API(cuMemAlloc_v2, (CUdeviceptr * dptr, size_t bytesize), (dptr, bytesize)) {
    require(dptr != nullptr && bytesize != 0);
    *dptr = allocate(bytesize, VRAMTRACE_SIM_DEVICE);
    return CUDA_SUCCESS;
}

SIM_API(cuMemAllocPitch_v2,
        (CUdeviceptr * dptr, size_t* pPitch, size_t WidthInBytes, size_t Height, unsigned int ElementSizeBytes),
        (dptr, pPitch, WidthInBytes, Height, ElementSizeBytes)) {
    require(dptr != nullptr && pPitch != nullptr && WidthInBytes != 0 && Height != 0);
    require(ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16);
    require(WidthInBytes <= std::numeric_limits<int>::max());
    const uint64_t pitch = round_up(WidthInBytes, kPitchAlignment);
    require(Height <= std::numeric_limits<uint64_t>::max() / pitch, CUDA_ERROR_OUT_OF_MEMORY);
    *dptr = allocate(pitch * Height, VRAMTRACE_SIM_PITCHED);
    *pPitch = pitch;
    return CUDA_SUCCESS;
}

// Managed memory lives on the host until a kernel touches it, and none ever does: it takes no device page.
SIM_API(cuMemAllocManaged, (CUdeviceptr * dptr, size_t bytesize, unsigned int flags), (dptr, bytesize, flags)) {
    require(dptr != nullptr && bytesize != 0);
    require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
    Context& context = current_context().owner();
    refuse_in_capture();
    const uint64_t mapped = round_up(bytesize, 4096);
    PhysicalMemory& host = Machine::get().host_memory;
    require(mapped >= bytesize && host.take(mapped, Use::kAllocations), CUDA_ERROR_OUT_OF_MEMORY);
    const uint64_t address = map_lazily(mapped, bytesize >= kPage ? kPage : 4096, true);
    if (address == 0) {
        host.give_back(mapped, Use::kAllocations);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Allocation allocation;
    allocation.kind = VRAMTRACE_SIM_MANAGED;
    allocation.base = address;
    allocation.bytes = bytesize;
    allocation.mapped_bytes = mapped;
    allocation.context = &context;
    allocation.device = context.device;
    allocation.flags = flags;
    allocation.managed = true;
    *dptr = to_pointer(add_allocation(allocation, bytesize).base);
    return CUDA_SUCCESS;
}

SIM_API(cuMemFree_v2, (CUdeviceptr dptr), (dptr)) {
    current_context();
    if (dptr == 0) {
        return CUDA_SUCCESS;
    }
    refuse_in_capture();
    Allocation* allocation = allocation_at(dptr);
    require(allocation != nullptr);
    switch (allocation->kind) {
        case VRAMTRACE_SIM_DEVICE:
        case VRAMTRACE_SIM_PITCHED:
        case VRAMTRACE_SIM_MANAGED:
        case VRAMTRACE_SIM_STREAM_ORDERED:
        case VRAMTRACE_SIM_POOL_IMPORT:
        case VRAMTRACE_SIM_EXTERNAL_BUFFER:
            release(*allocation);
            return CUDA_SUCCESS;
        case VRAMTRACE_SIM_GRAPH_MEMORY:
            end_graph_memory(dptr);
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

SIM_API(cuMemGetAddressRange_v2, (CUdeviceptr * pbase, size_t* psize, CUdeviceptr dptr), (pbase, psize, dptr)) {
    current_context();
    uint64_t base = 0;
    uint64_t bytes = 0;
    find_range(dptr, base, bytes);
    if (pbase != nullptr) {
        *pbase = to_pointer(base);
    }
    if (psize != nullptr) {
        *psize = bytes;
    }
    return CUDA_SUCCESS;
}
