// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/live_set.h"

namespace vramtrace::replay {

Space space_of(Kind kind) {
    switch (kind) {
        case Kind::DeviceMemory:
        case Kind::ManagedMemory:
        case Kind::PoolMemory:
        case Kind::GraphMemory:
        case Kind::ImportedPointer:
        case Kind::IpcMemory:
        case Kind::ExternalBuffer:
            return Space::Memory;
        case Kind::HostMemory:
            return Space::Host;
        case Kind::RegisteredMemory:
            return Space::Registered;
        case Kind::AddressRange:
            return Space::Range;
        case Kind::Physical:
        case Kind::PhysicalHost:
        case Kind::ImportedPhysical:
        case Kind::Multicast:
            return Space::Physical;
        case Kind::Array:
            return Space::Array;
        case Kind::Mipmap:
        case Kind::ExternalMipmap:
            return Space::Mipmap;
        case Kind::Module:
            return Space::Module;
        case Kind::Library:
            return Space::Library;
        case Kind::ExternalMemory:
            return Space::External;
        case Kind::GraphicsResource:
            return Space::Graphics;
        case Kind::Pool:
            return Space::Pool;
        case Kind::Graph:
            return Space::Graph;
        case Kind::GraphExec:
            return Space::GraphExec;
        case Kind::Context:
            return Space::Context;
        case Kind::PrimaryContext:
            return Space::Primary;
        case Kind::GreenContext:
            return Space::Green;
        case Kind::Stream:
            return Space::Stream;
        case Kind::Event:
            return Space::Event;
        case Kind::Block:
        case Kind::HostBlock:
            return Space::Block;
    }
    return Space::Memory;
}

uint64_t LiveSet::name_of(const Allocation& allocation) {
    switch (space_of(allocation.kind)) {
        case Space::Memory:
        case Space::Host:
        case Space::Registered:
        case Space::Range:
        case Space::Block:
            return allocation.address;
        case Space::Primary:
            return allocation.device;
        default:
            return allocation.object;
    }
}

Allocation* LiveSet::insert_or_conflict(const Allocation& allocation) {
    if (Allocation* other = find(space_of(allocation.kind), name_of(allocation))) return other;
    if (unused_.empty()) {
        chunks_.push_back(std::make_unique<Slot[]>(kChunk));
        for (size_t i = kChunk; i-- > 0;) unused_.push_back(&chunks_.back()[i]);
    }
    Slot* slot = unused_.back();
    unused_.pop_back();
    slot->allocation = allocation;
    link(slot);
    index(&slot->allocation);
    return &slot->allocation;
}

void LiveSet::link(Slot* slot) {
    slot->previous = last_;
    slot->next = nullptr;
    (last_ != nullptr ? last_->next : first_) = slot;
    last_ = slot;
    slot->linked = true;
    ++live_;
}

void LiveSet::remove(Allocation* allocation) {
    Slot* slot = slot_of(allocation);
    slot->was_indexed = slot->indexed;
    unindex(allocation);
    (slot->previous != nullptr ? slot->previous->next : first_) = slot->next;
    (slot->next != nullptr ? slot->next->previous : last_) = slot->previous;
    slot->linked = false;
    --live_;
}

bool LiveSet::revive(Allocation* allocation) {
    Slot* slot = slot_of(allocation);
    if (slot->was_indexed && find(space_of(allocation->kind), name_of(*allocation)) != nullptr) return false;
    link(slot);
    if (slot->was_indexed) index(allocation);
    return true;
}

void LiveSet::dispose(Allocation* allocation) {
    allocation->id = 0;
    unused_.push_back(slot_of(allocation));
}

void LiveSet::unindex(Allocation* allocation) {
    Slot* slot = slot_of(allocation);
    if (!slot->indexed) return;
    index_.erase(name_of(*allocation), static_cast<uint8_t>(space_of(allocation->kind)));
    slot->indexed = false;
}

void LiveSet::index(Allocation* allocation) {
    Slot* slot = slot_of(allocation);
    if (slot->indexed) return;
    index_.insert(name_of(*allocation), static_cast<uint8_t>(space_of(allocation->kind)), allocation);
    slot->indexed = true;
}

}  // namespace vramtrace::replay
