// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/allocations.h"
#include "simulator/driver/modules.h"

#include <vector>

#include "simulator/driver/host_memory.h"
#include "simulator/driver/pools.h"
#include "simulator/driver/virtual_memory.h"
#include "simulator/tag.h"

namespace vramtrace::simulator {
namespace {

using Table = std::map<uint64_t, std::unique_ptr<Allocation>>;

Table& table() {
    static auto* const allocations = new Table;
    return *allocations;
}

bool dies_with_context(uint32_t kind) {
    switch (kind) {
        case VRAMTRACE_SIM_DEVICE:
        case VRAMTRACE_SIM_PITCHED:
        case VRAMTRACE_SIM_MANAGED:
        case VRAMTRACE_SIM_HOST:
        case VRAMTRACE_SIM_HOST_REGISTERED:
        case VRAMTRACE_SIM_IPC_IMPORT:
        case VRAMTRACE_SIM_EXTERNAL_BUFFER:
            return true;
        default:
            return false;
    }
}

const OnContextEnd free_all([](Context& context) {
    std::vector<Allocation*> ending;
    for (const auto& [base, allocation] : table()) {
        if (allocation->context == &context && dies_with_context(allocation->kind)) {
            ending.push_back(allocation.get());
        }
    }
    for (Allocation* allocation : ending) {
        release(*allocation);
    }
});

}  // namespace

const std::map<uint64_t, std::unique_ptr<Allocation>>& allocations() {
    return table();
}

CUdeviceptr to_pointer(uint64_t address) {
    return static_cast<CUdeviceptr>(address);
}

bool is_host_kind(uint32_t kind) {
    return kind == VRAMTRACE_SIM_HOST || kind == VRAMTRACE_SIM_HOST_REGISTERED;
}

uint64_t add_to_book(Book::Item item) {
    item.api = current_function() == Function::kCount ? "" : info_of(current_function()).symbol;
    return Machine::get().book.add(item, current_tag());
}

void remove_from_book(uint64_t sequence) {
    Machine::get().book.remove(sequence);
}

Allocation& add_allocation(Allocation allocation, uint64_t local_bytes) {
    static uint64_t last_buffer_id = 0;
    Book::Item item;
    item.kind = allocation.kind;
    item.device = allocation.device == nullptr ? -1 : allocation.device->ordinal;
    item.address = allocation.base;
    item.local_bytes = local_bytes;
    item.extent_bytes = allocation.bytes;
    item.physical_bytes = is_host_kind(allocation.kind) ? 0 : allocation.piece.physical_bytes;
    item.context = allocation.context;
    item.pool = allocation.pool;
    allocation.sequence = add_to_book(item);
    allocation.buffer_id = ++last_buffer_id;
    auto& place = table()[allocation.base];
    place = std::make_unique<Allocation>(allocation);
    return *place;
}

void add_variable(uint64_t address, uint64_t bytes, Context* context, Device* device, bool managed) {
    auto variable = std::make_unique<Allocation>();
    variable->kind = VRAMTRACE_SIM_MODULE;
    variable->base = address;
    variable->bytes = bytes;
    variable->context = context;
    variable->device = device;
    variable->managed = managed;
    table()[address] = std::move(variable);
}

void remove_variable(uint64_t address) {
    table().erase(address);
}

Allocation* allocation_at(uint64_t base) {
    const auto found = table().find(base);
    return found == table().end() ? nullptr : found->second.get();
}

Allocation* allocation_containing(uint64_t address) {
    auto next = table().upper_bound(address);
    if (next == table().begin()) {
        return nullptr;
    }
    Allocation* allocation = std::prev(next)->second.get();
    return address - allocation->base < allocation->bytes ? allocation : nullptr;
}

void strike(Allocation& allocation) {
    remove_from_book(allocation.sequence);
    table().erase(allocation.base);
}

void release(Allocation& allocation) {
    const Allocation old = allocation;
    strike(allocation);
    switch (old.kind) {
        case VRAMTRACE_SIM_DEVICE:
        case VRAMTRACE_SIM_PITCHED:
            old.context->heap->free(old.piece);
            break;
        case VRAMTRACE_SIM_HOST:
            pinned_heap().free(old.piece);
            break;
        case VRAMTRACE_SIM_MANAGED:
            Machine::get().host_memory.give_back(old.mapped_bytes, Use::kAllocations);
            unmap(old.base, old.mapped_bytes);
            break;
        case VRAMTRACE_SIM_STREAM_ORDERED:
            give_back_to_pool(*old.pool, old.piece, old.bytes);
            break;
        case VRAMTRACE_SIM_IPC_IMPORT:
        case VRAMTRACE_SIM_POOL_IMPORT:
        case VRAMTRACE_SIM_EXTERNAL_BUFFER:
            unmap(old.piece.address, old.mapped_bytes);
            break;
        default:
            break;
    }
}

void find_range(uint64_t address, uint64_t& base, uint64_t& bytes) {
    if (const Allocation* allocation = allocation_containing(address)) {
        base = allocation->base;
        bytes = allocation->bytes;
        return;
    }
    const FoundMapping found = mapping_containing(address);
    require(found.mapping != nullptr);
    base = found.base;
    bytes = found.mapping->bytes;
}

bool is_device_range(uint64_t address, uint64_t bytes) {
    const Allocation* allocation = allocation_containing(address);
    if (allocation != nullptr) {
        return bytes <= allocation->bytes - (address - allocation->base);
    }
    return is_mapped_range(address, bytes) || is_global_range(address, bytes);
}

}  // namespace vramtrace::simulator
