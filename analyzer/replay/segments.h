// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/replay/block_map.h"
#include "analyzer/replay/core.h"
#include "analyzer/replay/virtual_memory.h"

namespace vramtrace::replay {

// PyTorch cuts blocks up to 1 MiB out of segments of 2 MiB, larger ones out of larger segments, and never both out of
// one: a segment (or a piece mapped into a reservation) of at most this size is of the small pool.
constexpr uint64_t kSmallSegment = 2U << 20;
constexpr uint64_t kSmallBlock = 1U << 20;  // where the segment is not known, the block's own size decides

// Where a block lies.
struct Home {
    Allocation* segment = nullptr;  // driver allocation or reservation; nullptr: not known (any more)
    bool memory = false;            // it is CUDA memory of ours
    bool mapped = false;            // in a reservation
    bool host = false;
    bool small = false;
    uint8_t device = trace::kNoDevice;
};

// THE DRIVER MEMORY THAT FRAMEWORKS CUT BLOCKS OUT OF, by address. A driver allocation is a segment from the first block in
// it until it ends; a reservation likewise, and what it holds is what is mapped in it.
//
//   cuMemAlloc, pool, graph, managed, pinned      |######|             segment = the allocation
//   reservation |....[map][map][map]..........|                        segment = the reservation; bytes = mapped
//                    ^ blocks may span mappings
//
// What is unmapped under live blocks is "offloaded": the framework still holds it, the device does not. Mapped again, it is
// back. Whatever else ends a segment under live blocks orphans them: Blocks ends those.
//
// Nothing here costs anything before the first block: only then the live set is indexed by address.
class Segments {
public:
    Segments(Core& core, const VirtualMemory& virtual_memory, const BlockMap& blocks)
        : core_(core), virtual_memory_(virtual_memory), blocks_(blocks) {}

    bool active() const { return active_; }
    void activate();

    Home home(uint64_t address) const;
    // A block is about to begin there: what it lies in is a segment from now on.
    void claim(Home& home, Moment now);
    // The bounds of a segment that is one driver allocation; false: a reservation or gone.
    bool bounds(const Allocation& block, uint64_t& begin, uint64_t& end) const;

    // A driver allocation or reservation began, ended, is back.
    void begin(Allocation& memory);
    void end(const Allocation& memory, Moment now);
    void restore(Allocation& memory, Moment now);
    // Around a Map or Unmap.
    uint64_t mapped_in(uint64_t address, uint64_t bytes) const;
    void mapped(const trace::Event& event, uint64_t before, Moment now);

    struct Reservation {
        Allocation* allocation = nullptr;
        bool claimed = false, host = false, small = false;
        uint8_t device = trace::kNoDevice;
        uint64_t mapped = 0, offloaded = 0;  // once claimed
    };
    const std::map<uint64_t, Allocation*>& memory() const { return memory_; }
    const std::map<uint64_t, Reservation>& reservations() const { return reservations_; }
    uint64_t offloaded(uint8_t device) const;  // bytes of segments

private:
    void claim_reservation(Reservation& reservation);
    void mark_handles(uint64_t address, uint64_t bytes);
    void tell(const SegmentChange& change);
    void tell_mapped(const Reservation& reservation, int64_t bytes, Moment now, bool taken_back = false);
    Reservation* reservation_of(uint64_t address);

    Core& core_;
    const VirtualMemory& virtual_memory_;
    const BlockMap& blocks_;
    bool active_ = false;
    std::map<uint64_t, Allocation*> memory_;
    std::map<uint64_t, Reservation> reservations_;
};

}  // namespace vramtrace::replay
