// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>

#include "simulator/driver/handles.h"

namespace vramtrace::simulator {

// What cuMemCreate makes (or an import, or a multicast object): bytes without an address. Lives until no reference
// and no mapping is left.
struct Physical {
    uint64_t bytes = 0;
    Device* device = nullptr;
    CUmemAllocationProp properties{};
    int references = 0;
    int mappings = 0;       // address mappings, array and multicast bindings
    bool imported = false;  // another process's memory
    bool multicast = false;
    CUmulticastObjectProp team{};
    std::set<int> team_devices;
    std::map<uint64_t, std::pair<Physical*, uint64_t>> bound;  // multicast: offset -> memory, bytes
    uint64_t backing = 0;                                      // where the bytes lie in this process
    int descriptor = -1;                                       // shareable memory: its anonymous file
    uint64_t inode = 0;
    uint64_t sequence = 0;
};

struct Mapping {
    uint64_t bytes;
    uint64_t offset;
    Physical* physical;
    bool readable;
    bool writable;
    uint64_t sequence;
    std::map<int, unsigned long long> access;
};

using PhysicalTable = HandleTable<Physical, CUmemGenericAllocationHandle>;
PhysicalTable& physicals();
Physical& physical_of(CUmemGenericAllocationHandle handle);
void drop_if_unused(Physical& physical);

struct FoundMapping {
    uint64_t base;
    Mapping* mapping;
};
FoundMapping mapping_containing(uint64_t address);
bool is_mapped_range(uint64_t address, uint64_t bytes);  // mapped and accessible
bool is_reserved(uint64_t address, uint64_t* base, uint64_t* bytes);

}  // namespace vramtrace::simulator
