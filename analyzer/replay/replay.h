// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "analyzer/replay/blocks.h"
#include "analyzer/replay/contexts.h"
#include "analyzer/replay/core.h"
#include "analyzer/replay/event_kinds.h"
#include "analyzer/replay/graphs.h"
#include "analyzer/replay/observer.h"
#include "analyzer/replay/pools.h"
#include "analyzer/replay/sharing.h"
#include "analyzer/replay/virtual_memory.h"
#include "trace/event.h"

// THE ACCOUNTING CORE: events in, live set and observers out. Knows no symbol and no file.
//
//   apply(event) ──► kind's file (pools, virtual_memory, graphs, contexts, sharing, blocks; the rest is in replay.cpp)
//                        └──► Core: allocate / end ──► LiveSet, observers
//
// Never fails: what does not fit is counted in oddities().
namespace vramtrace::replay {

class Replay {
public:
    Replay();

    // Observers are told in the order of attaching; they must outlive the replay's last apply().
    void attach(Observer& observer) { core_.observers().push_back(&observer); }
    void apply(const trace::Event& event);
    // Allocation::tag of what is born from here on.
    void tag_births(uint32_t tag) { core_.tag_births(tag); }
    // Nothing more will come: things whose memory lies over another's (an end was lost) are closed.
    void finish();
    // The release with that ticket had not returned when the process died. After finish().
    void in_flight(uint64_t ticket) { core_.in_flight(ticket); }

    const LiveSet& live() const { return core_.live(); }
    const SiteTable& sites() const { return core_.sites(); }
    const Oddities& oddities() const { return core_.oddities(); }
    const Pools& pools() const { return pools_; }
    const VirtualMemory& virtual_memory() const { return virtual_memory_; }
    const Graphs& graphs() const { return graphs_; }
    const Blocks& blocks() const { return blocks_; }

private:
    void change(const trace::Event& event);
    void addressed(const trace::Event& event, Kind kind);
    void named(const trace::Event& event, Kind kind);
    void failed(const trace::Event& event);

    Core core_;
    Pools pools_{core_};
    VirtualMemory virtual_memory_{core_};
    Graphs graphs_{core_};
    Contexts contexts_{core_};
    Sharing sharing_{core_};
    Blocks blocks_{core_, virtual_memory_};
    bool any_ = false;
    trace::Event last_;
};

}  // namespace vramtrace::replay
