// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "analyzer/replay/core.h"

namespace vramtrace::replay {

// A piece of a handle seen at an address.
struct Mapping {
    uint64_t bytes = 0;
    uint64_t offset = 0;  // in the handle
    Reference memory;     // empty: the handle is not known
};

// PHYSICAL MEMORY, ADDRESSES AND THE MAPPINGS BETWEEN THEM.
//
//   cuMemCreate ──► handle: references 1, bytes counted from here …
//   cuMemMap    ──► mapping address → handle; a handle may have many, parts of it too
//   cuMemRelease──► one reference less; at 0 the handle's name is gone, the bytes stay while anything is mapped
//   … until references 0 and no mapping: whichever of cuMemRelease and cuMemUnmap comes last ends it.
//
// Imported handles and multicast objects live by the same rule and count 0 bytes.
class VirtualMemory {
public:
    explicit VirtualMemory(Core& core) : core_(core) {}

    void create(const trace::Event& event);
    void import(const trace::Event& event);
    void create_multicast(const trace::Event& event);
    void bind(const trace::Event& event);
    void retain(const trace::Event& event);
    void release(const trace::Event& event);
    void map(const trace::Event& event);
    void unmap(const trace::Event& event);
    void reserve(const trace::Event& event);
    void free_addresses(const trace::Event& event);

    // By address.
    const std::map<uint64_t, Mapping>& mappings() const { return mappings_; }

private:
    void make(const trace::Event& event, Allocation made);
    Allocation* by_handle(uint64_t handle);
    Allocation* by_address(uint64_t address);
    void end_if_unused(Allocation* memory, Ending ending, const trace::Event& event);
    // Takes out what of the mappings lies in the range; false if there was nothing.
    bool cut(uint64_t address, uint64_t bytes, Ending ending, const trace::Event& event);
    void put_back(uint64_t address, const Mapping& piece);
    void attach(uint64_t address, const Mapping& piece);

    Core& core_;
    std::map<uint64_t, Mapping> mappings_;
    struct Alias {
        Reference memory;
        uint32_t references = 0;
    };
    // Other names that cuMemRetainAllocationHandle gave for a handle.
    std::unordered_map<uint64_t, Alias> aliases_;
};

}  // namespace vramtrace::replay
