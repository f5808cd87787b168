// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/virtual_memory.h"

#include <algorithm>

namespace vramtrace::replay {
namespace {

constexpr uint32_t kLocationDevice = 1;  // CU_MEM_LOCATION_TYPE_DEVICE; every other known type is the host

uint64_t end_of(uint64_t address, uint64_t bytes) {
    return bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
}

}  // namespace

void VirtualMemory::create(const trace::Event& event) {
    const auto location = static_cast<uint32_t>(event.aux >> 32);
    const bool on_host = location > kLocationDevice;
    Allocation made = core_.made_by(event, on_host ? Kind::PhysicalHost : Kind::Physical);
    if (location == kLocationDevice) {
        made.device = static_cast<uint8_t>(std::min<uint64_t>(event.aux & 0xffffffff, trace::kNoDevice));
    }
    made.object = event.object;
    made.bytes = event.size;
    make(event, made);
}

void VirtualMemory::import(const trace::Event& event) {
    if (Allocation* known = by_handle(event.object)) {
        ++known->references;
        return;
    }
    Allocation made = core_.made_by(event, Kind::ImportedPhysical);
    made.object = event.object;
    made.bytes = event.size;
    make(event, made);
}

void VirtualMemory::create_multicast(const trace::Event& event) {
    Allocation made = core_.made_by(event, Kind::Multicast);
    made.object = event.object;
    made.bytes = event.size;
    make(event, made);
}

void VirtualMemory::make(const trace::Event& event, Allocation made) {
    made.references = 1;
    if (Allocation* old = core_.live().find(Space::Physical, made.object); old != nullptr && old->mappings > 0) {
        // The name is free for the driver, so its last release was lost; mappings keep the bytes.
        ++core_.oddities().lost_frees;
        old->references = 0;
        core_.live().unindex(old);
    }
    core_.allocate(made, event);
}

Allocation* VirtualMemory::by_handle(uint64_t handle) {
    if (Allocation* memory = core_.live().find(Space::Physical, handle)) return memory;
    const auto alias = aliases_.find(handle);
    return alias == aliases_.end() ? nullptr : alias->second.memory.get(core_.live());
}

Allocation* VirtualMemory::by_address(uint64_t address) {
    auto place = mappings_.upper_bound(address);
    if (place == mappings_.begin()) return nullptr;
    --place;
    if (address - place->first >= place->second.bytes) return nullptr;
    return place->second.memory.get(core_.live());
}

void VirtualMemory::bind(const trace::Event& event) {
    // A binding neither makes nor keeps bytes of ours; that its object is known is all there is to check.
    if (by_handle(event.object) == nullptr) core_.unmatched_use(event);
}

void VirtualMemory::retain(const trace::Event& event) {
    Allocation* memory = by_handle(event.object);
    if (memory == nullptr) {
        memory = event.address != 0 ? by_address(event.address) : nullptr;
        if (memory == nullptr) return core_.unmatched_use(event);
        if (memory->object == event.object) {
            core_.live().index(memory);  // it had been released while mapped: its name is back
        } else {
            aliases_[event.object].memory = Reference(memory);
        }
    }
    if (const auto alias = aliases_.find(event.object); alias != aliases_.end()) ++alias->second.references;
    ++memory->references;
}

void VirtualMemory::release(const trace::Event& event) {
    Allocation* memory = by_handle(event.object);
    if (memory == nullptr) return core_.unmatched_release(event);
    const bool by_alias = memory->object != event.object;
    if (by_alias) {
        const auto alias = aliases_.find(event.object);
        if (--alias->second.references == 0) aliases_.erase(alias);
    }
    if (memory->references > 0) --memory->references;
    core_.on_refusal([this, reference = Reference(memory), handle = event.object, by_alias] {
        Allocation* again = reference.get(core_.live());
        if (again == nullptr) return;
        ++again->references;
        if (by_alias) {
            aliases_[handle].memory = reference;
            ++aliases_[handle].references;
        } else if (core_.live().find(Space::Physical, handle) == nullptr) {
            core_.live().index(again);
        }
    });
    end_if_unused(memory, Ending::Freed, event);
}

void VirtualMemory::end_if_unused(Allocation* memory, Ending ending, const trace::Event& event) {
    if (memory->references > 0) return;
    if (memory->mappings == 0) {
        std::erase_if(aliases_, [memory](const auto& alias) { return alias.second.memory.allocation == memory; });
        core_.end(memory, ending, event);
    } else {
        core_.live().unindex(memory);  // the driver may give the name out again
    }
}

void VirtualMemory::map(const trace::Event& event) {
    // Something mapped there already: its unmap was lost.
    if (cut(event.address, event.size, Ending::LostFree, event)) core_.unmatched_use(event);
    Allocation* memory = by_handle(event.object);
    if (memory == nullptr) core_.unmatched_use(event);
    if (event.size == 0) return;
    attach(event.address, {event.size, event.aux, memory != nullptr ? Reference(memory) : Reference()});
}

void VirtualMemory::attach(uint64_t address, const Mapping& piece) {
    if (Allocation* memory = piece.memory.get(core_.live())) {
        ++memory->mappings;
        memory->mapped_bytes += piece.bytes;
    }
    mappings_[address] = piece;
}

void VirtualMemory::unmap(const trace::Event& event) {
    if (!cut(event.address, event.size, Ending::Freed, event)) core_.unmatched_release(event);
}

bool VirtualMemory::cut(uint64_t address, uint64_t bytes, Ending ending, const trace::Event& event) {
    const uint64_t end = end_of(address, bytes);
    auto place = mappings_.lower_bound(address);
    if (place != mappings_.begin()) {
        if (const auto before = std::prev(place); end_of(before->first, before->second.bytes) > address) place = before;
    }
    bool found = false;
    while (place != mappings_.end() && place->first < end) {
        found = true;
        const uint64_t start = place->first;
        const Mapping whole = place->second;
        place = mappings_.erase(place);
        const uint64_t whole_end = end_of(start, whole.bytes);
        const uint64_t from = std::max(start, address);
        const uint64_t to = std::min(whole_end, end);
        Allocation* memory = whole.memory.get(core_.live());
        if (memory != nullptr) {
            --memory->mappings;
            memory->mapped_bytes -= whole.bytes;
        }
        if (from > start) attach(start, {from - start, whole.offset, whole.memory});
        if (to < whole_end) {
            attach(to, {whole_end - to, whole.offset + (to - start), whole.memory});
            place = mappings_.upper_bound(to);
        }
        const Mapping taken{to - from, whole.offset + (from - start), whole.memory};
        core_.on_refusal([this, from, taken] { put_back(from, taken); });
        if (memory != nullptr) end_if_unused(memory, ending, event);
    }
    return found;
}

void VirtualMemory::put_back(uint64_t address, const Mapping& piece) {
    const auto next = mappings_.lower_bound(address);
    const bool taken =
        (next != mappings_.end() && next->first < end_of(address, piece.bytes)) ||
        (next != mappings_.begin() && end_of(std::prev(next)->first, std::prev(next)->second.bytes) > address);
    if (taken) {
        ++core_.oddities().refused_unknown;
        return;
    }
    attach(address, piece);
}

void VirtualMemory::reserve(const trace::Event& event) {
    Allocation made = core_.made_by(event, Kind::AddressRange);
    made.address = event.address;
    made.bytes = event.size;
    core_.allocate(made, event);
}

void VirtualMemory::free_addresses(const trace::Event& event) {
    core_.release(Space::Range, event.address, event);
}

}  // namespace vramtrace::replay
