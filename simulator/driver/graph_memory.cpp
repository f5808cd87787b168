// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/graph_memory.h"

#include <algorithm>

namespace vramtrace::simulator {
namespace {

// One address given to an allocation node.
//
//   reserved by node -> live from launch to free -> (again at the next launch) ...
//                    \-> no owner left: the address goes back, if live only after the free
struct GraphAddress {
    Device* device;
    uint64_t bytes;
    uint64_t pages;
    int owners;  // the node, and each executable graph that holds a copy of it
};

std::map<uint64_t, GraphAddress>& addresses() {
    static auto* const table = new std::map<uint64_t, GraphAddress>;
    return *table;
}

void drop(std::map<uint64_t, GraphAddress>::iterator found) {
    found->second.device->arena.give_back(found->first);
    addresses().erase(found);
}

}  // namespace

GraphMemoryUse& graph_memory_use(Device& device) {
    static auto* const table = new std::map<Device*, GraphMemoryUse>;
    return (*table)[&device];
}

uint64_t reserve_graph_address(Device& device, uint64_t bytes) {
    require(bytes <= device.memory.total(), CUDA_ERROR_OUT_OF_MEMORY);
    const uint64_t pages = round_up(bytes, kPage);
    const auto address = device.arena.take(pages);
    require(address.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
    addresses()[*address] = {&device, bytes, pages, 1};
    return *address;
}

bool is_graph_address(uint64_t address) {
    return addresses().count(address) != 0;
}

bool is_live_graph_address(uint64_t address) {
    const Allocation* allocation = allocation_at(address);
    return allocation != nullptr && allocation->kind == VRAMTRACE_SIM_GRAPH_MEMORY;
}

void share_graph_address(uint64_t address) {
    addresses().at(address).owners += 1;
}

void forget_graph_address(uint64_t address) {
    const auto found = addresses().find(address);
    if (found == addresses().end()) {
        return;
    }
    found->second.owners -= 1;
    if (found->second.owners == 0 && !is_live_graph_address(address)) {
        drop(found);
    }
}

void begin_graph_memory(uint64_t address) {
    const auto found = addresses().find(address);
    require(found != addresses().end() && !is_live_graph_address(address));
    const GraphAddress& place = found->second;
    Device& device = *place.device;
    GraphMemoryUse& use = graph_memory_use(device);
    const uint64_t cached = device.memory.used(Use::kGraphs) - use.used;
    if (place.pages > cached) {
        // What is cached is spoken for: it must not go back while the rest is asked for.
        use.used += cached;
        const bool taken = device.memory.take(place.pages - cached, Use::kGraphs);
        use.used -= cached;
        require(taken, CUDA_ERROR_OUT_OF_MEMORY);
    }
    use.used += place.pages;
    use.used_high = std::max(use.used_high, use.used);
    use.reserved_high = std::max(use.reserved_high, device.memory.used(Use::kGraphs));
    Allocation allocation;
    allocation.kind = VRAMTRACE_SIM_GRAPH_MEMORY;
    allocation.base = address;
    allocation.bytes = place.bytes;
    allocation.piece = {address, place.pages};
    allocation.device = &device;
    add_allocation(allocation, place.bytes);
}

void end_graph_memory(uint64_t address) {
    require(is_live_graph_address(address));
    release(*allocation_at(address));
    const auto found = addresses().find(address);
    graph_memory_use(*found->second.device).used -= found->second.pages;
    if (found->second.owners == 0) {
        drop(found);
    }
}

void trim_graph_memory(Device& device) {
    const GraphMemoryUse& use = graph_memory_use(device);
    device.memory.give_back(device.memory.used(Use::kGraphs) - use.used, Use::kGraphs);
}

}  // namespace vramtrace::simulator
