// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyzer/replay/block_map.h"
#include "analyzer/replay/core.h"
#include "analyzer/replay/segments.h"

namespace vramtrace::replay {

// What the framework says of itself with each event, next to what the events add up to here. They differ from the first
// event on if recording began late, and later if events are missing.
struct SelfCheck {
    uint64_t compared = 0;   // events that told a sum
    uint64_t differing = 0;  // of them, where it was not ours
    int64_t at_begin = 0;    // the framework's less ours, at the first
    int64_t last = 0;        // … at the last
    uint64_t said = 0, said_peak = 0;
    Moment first;          // where it began to differ from `at_begin`
    uint64_t changed = 0;  // events at which the difference was not at_begin

    void compare(uint64_t framework, uint64_t ours, Moment now);
};

// The layer of blocks on one device.
struct BlockState {
    uint64_t offloaded_count = 0, offloaded_bytes = 0;  // of the live ones: something of them is unmapped now
    uint64_t orphaned_count = 0, orphaned_bytes = 0;    // ended because their segment did, over the whole trace
    uint64_t said_live = 0;  // bytes of blocks whose device the framework named; orphans until it frees them
    bool device_said = false;
    SelfCheck allocated, reserved;
};

// Blocks outside CUDA memory: a framework's pool of ordinary host memory. Counted, never mixed with the others.
struct OutsideBlocks {
    uint64_t allocated_count = 0, allocated_bytes = 0;
    uint64_t live_count = 0, live_bytes = 0, peak_bytes = 0;
};

// BLOCKS: what a framework's allocator hands out of its segments, a layer of its own above the driver's allocations.
// Which device a block is on the framework says (PyTorch), or the driver memory that it lies in (TensorFlow).
//
//   BlockAlloc ──► live ──BlockFree──► freed
//                   │  ▲
//                   │  └── unmapped under it: live, offloaded; mapped again: live
//                   └───── its segment ends any other way: ended, "orphaned"; its later BlockFree says nothing new
//
// An allocation made here has `object` = the id of its segment: a driver allocation or a reservation; 0 if not known.
class Blocks : public Observer {
public:
    Blocks(Core& core, const VirtualMemory& virtual_memory) : core_(core), segments_(core, virtual_memory, map_) {}

    void allocate(const trace::Event& event);
    void free(const trace::Event& event);
    // Around a Map or Unmap: bytes mapped in its range before it, and then.
    uint64_t mapped_before(const trace::Event& event) const;
    void mapped(const trace::Event& event, uint64_t before);
    // After each event: ends the blocks whose segments ended with it.
    void settle(const trace::Event& event);

    bool any() const { return segments_.active(); }
    const BlockMap& map() const { return map_; }
    const Segments& segments() const { return segments_; }
    const std::map<uint8_t, BlockState>& states() const { return states_; }  // by device; kNoDevice: host blocks
    const OutsideBlocks& outside() const { return outside_; }

    void on_event(const trace::Event& event) override { now_ = {event.sequence, event.time}; }
    void on_allocate(const Allocation& allocation) override;
    void on_release(const Allocation& allocation, const Release& release) override;
    void on_restore(const Allocation& allocation, const Release& taken_back, Moment now) override;
    void on_segment(const SegmentChange& change) override;

private:
    struct Gone {
        uint64_t segment = 0, address = 0, bytes = 0;
        Ending ending = Ending::SegmentEnded;
    };
    struct Orphan {
        uint64_t bytes = 0;
        uint8_t device = trace::kNoDevice;
        bool device_said = false;
    };

    void close_overlapped(const trace::Event& event);
    bool free_elsewhere(uint64_t address);
    void check(const trace::Event& event);
    void tell(const Allocation& block, bool begins, Moment now, bool taken_back = false);
    void set_offloaded(Allocation& block, bool offloaded);
    BlockState& state(const Allocation& block) { return states_[block.counted_device()]; }

    Core& core_;
    BlockMap map_;
    Segments segments_;
    Moment now_;
    std::map<uint8_t, BlockState> states_;
    std::map<uint8_t, uint64_t> reserved_;  // bytes of all segments, by device
    OutsideBlocks outside_;
    std::unordered_map<uint64_t, uint64_t> outside_live_;  // address → bytes
    std::unordered_map<uint64_t, Orphan> orphans_;         // that the framework has not freed, by address
    std::vector<Gone> gone_;                               // segments that ended with the event at hand
};

}  // namespace vramtrace::replay
