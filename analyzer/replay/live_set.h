// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/replay/allocation.h"
#include "analyzer/replay/flat_index.h"

namespace vramtrace::replay {

// Names come from different spaces: a reservation and the mapping in it may have one address, a pool and a graph one
// handle value.
enum class Space : uint8_t {
    Memory,      // addresses that cuMemFree or cuMemFreeAsync, or IPC closing, would take
    Host,        // addresses that cuMemFreeHost would take
    Registered,  // addresses that cuMemHostUnregister would take
    Range,       // addresses that cuMemAddressFree would take
    Physical,    // handles that cuMemRelease would take; multicast objects too
    Array,
    Mipmap,
    Module,
    Library,
    External,
    Graphics,
    Pool,
    Graph,
    GraphExec,
    Context,
    Primary,  // by device
    Green,
    Stream,
    Event,
    Block,  // addresses that a framework's own free would take
};
Space space_of(Kind kind);

// WHAT IS LIVE: found by name in its space, walked in order of birth (what was revived comes last).
//
//   insert ──► live, indexed ──► remove ──► parked ──► dispose (slot reused)
//                   ▲  │ unindex: live without a name        │
//                   │  ▼ (VMM memory that is only mapped)     │
//                   └───────────────── revive ◄───────────────┘
//
// A removed allocation stays readable where it is until it is disposed: a refused release revives it.
class LiveSet {
public:
    LiveSet() = default;
    LiveSet(const LiveSet&) = delete;
    LiveSet& operator=(const LiveSet&) = delete;

    Allocation* find(Space space, uint64_t name) const { return index_.find(name, static_cast<uint8_t>(space)); }
    // Inserts it, or answers what already has its name.
    Allocation* insert_or_conflict(const Allocation& allocation);
    void remove(Allocation* allocation);
    // Live again, under its name if it had one. False if that name was given out meanwhile: nothing is done then.
    bool revive(Allocation* allocation);
    void dispose(Allocation* allocation);

    void unindex(Allocation* allocation);
    void index(Allocation* allocation);
    bool is_live(const Allocation* allocation) const { return slot_of(allocation)->linked; }
    bool is_indexed(const Allocation* allocation) const { return slot_of(allocation)->indexed; }

    // What it is found by in its space.
    static uint64_t name_of(const Allocation& allocation);

    size_t size() const { return live_; }
    // Slots ever made: what memory use is measured by in tests.
    size_t slots() const { return chunks_.size() * kChunk; }

    // visit(Allocation&) may remove what it is given, nothing else.
    template <typename Visit>
    void for_each(Visit&& visit) {
        for (Slot *slot = first_, *next = nullptr; slot != nullptr; slot = next) {
            next = slot->next;
            visit(slot->allocation);
        }
    }
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const Slot* slot = first_; slot != nullptr; slot = slot->next) visit(slot->allocation);
    }

private:
    struct Slot {
        Allocation allocation;  // first: a pointer to it is one to the slot
        Slot* previous = nullptr;
        Slot* next = nullptr;
        bool linked = false;
        bool indexed = false;
        bool was_indexed = false;  // when it was removed
    };
    static constexpr size_t kChunk = 512;

    static Slot* slot_of(Allocation* allocation) { return reinterpret_cast<Slot*>(allocation); }
    static const Slot* slot_of(const Allocation* allocation) { return reinterpret_cast<const Slot*>(allocation); }
    void link(Slot* slot);

    FlatIndex<Allocation> index_;
    std::vector<std::unique_ptr<Slot[]>> chunks_;
    std::vector<Slot*> unused_;
    Slot* first_ = nullptr;
    Slot* last_ = nullptr;
    size_t live_ = 0;
};

}  // namespace vramtrace::replay
