// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/replay/allocation.h"
#include "trace/event.h"

// WHO WATCHES THE REPLAY: each sum in accounts/ is one observer. Calls come in the order of the events; per event first
// on_event, then what follows from it.
namespace vramtrace::replay {

// A pool as the driver saw it (PoolInfo) next to what the program's own order says is live in it.
struct PoolSample {
    uint64_t pool = 0;  // 0 = the device's default pool
    uint8_t device = trace::kNoDevice;
    Moment moment;
    uint64_t reserved = 0;
    uint64_t used = 0;
    uint64_t live = 0;  // bytes live in program order at this instant
    // Freed by the program, not yet free for the pool: what the stream has not reached.
    uint64_t pending() const { return used > live ? used - live : 0; }
    uint64_t unused() const { return reserved > used ? reserved - used : 0; }
};

// A segment of a framework's began, grew, shrank or ended: driver memory in which its blocks lie.
struct SegmentChange {
    uint8_t device = trace::kNoDevice;
    bool host = false;
    bool small = false;    // of the pool for small blocks
    int64_t bytes = 0;     // more or fewer
    int64_t segments = 0;  // 1, -1; 0: parts of a reservation mapped or unmapped
    int64_t split_bytes = 0, split_pieces = 0;
    Moment moment;
    bool taken_back = false;  // an end that was refused: it is as it had been
};

// A block began or ended. "split": free pieces of a segment that has a live block, of which it made more or fewer.
struct BlockChange {
    const Allocation* block = nullptr;
    bool begins = false;
    int64_t split_bytes = 0, split_pieces = 0;
    Moment moment;
    bool taken_back = false;
};

class Observer {
public:
    virtual ~Observer() = default;
    virtual void on_event(const trace::Event&) {}
    virtual void on_allocate(const Allocation&) {}
    // The allocation leaves the live set; it is still readable during the call.
    virtual void on_release(const Allocation&, const Release&) {}
    // The release was refused, as is known at `now`: live again, with its old birth.
    virtual void on_restore(const Allocation&, const Release& /*taken_back*/, Moment /*now*/) {}
    // The release stands but was refused because the context is gone; `was` is how it had been told before.
    virtual void on_context_lost(const Allocation&, const Release& /*was*/) {}
    // The process died before the real release returned: whether it happened is not known.
    virtual void on_in_flight(const Allocation&, const Release& /*was*/) {}
    // A context is about to end with all it holds: nothing of that has been told yet.
    virtual void on_context_end(const trace::Event&) {}
    // CallFailed, RuntimeFailed, FrameworkOutOfMemory: nothing was allocated. `site` is that of the attempt, with the kind
    // attempted.
    virtual void on_failed(const trace::Event&, SiteId /*site*/) {}
    // The driver refused a release, for another reason than a context that is gone: what it named lives on, if anything did.
    virtual void on_refused(const trace::Event& /*refusal*/, const Release& /*refused*/) {}
    virtual void on_pool_sample(const PoolSample&) {}
    // Beside on_allocate and on_release of the block itself.
    virtual void on_block(const BlockChange&) {}
    virtual void on_segment(const SegmentChange&) {}
};

}  // namespace vramtrace::replay
