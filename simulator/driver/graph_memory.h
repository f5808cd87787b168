// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/driver/allocations.h"

namespace vramtrace::simulator {

// Memory of allocation nodes. The address belongs to the node from its creation; device pages are taken at launch,
// stay with the device's graph memory after the free, and go back at cuDeviceGraphMemTrim or when the device is full.
struct GraphMemoryUse {
    uint64_t used = 0;
    uint64_t used_high = 0;
    uint64_t reserved_high = 0;
};

uint64_t reserve_graph_address(Device& device, uint64_t bytes);
void share_graph_address(uint64_t address);   // one more owner
void forget_graph_address(uint64_t address);  // one owner less; without owner and nothing live, the address goes back
bool is_graph_address(uint64_t address);
bool is_live_graph_address(uint64_t address);
void begin_graph_memory(uint64_t address);  // refuses with OUT_OF_MEMORY
void end_graph_memory(uint64_t address);    // refuses if nothing is live there
void trim_graph_memory(Device& device);
GraphMemoryUse& graph_memory_use(Device& device);

}  // namespace vramtrace::simulator
