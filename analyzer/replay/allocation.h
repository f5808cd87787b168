// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "analyzer/replay/quantities.h"
#include "analyzer/replay/site.h"
#include "trace/event.h"

// ONE LIVE THING: memory, a range of addresses or a handle, from the event that made it to the one that ended it.
namespace vramtrace::replay {

struct Moment {
    uint64_t ticket = 0;  // the event's place in the order of its process
    uint64_t time = 0;    // CLOCK_MONOTONIC, ns

    friend bool operator==(const Moment&, const Moment&) = default;
};

enum AllocationFlags : uint8_t {
    kOwnerDestroyed =
        1,           // graph memory whose graph or executable graph is gone; a pool's memory after cuMemPoolDestroy
    kPrimary = 2,    // a context handle that is a device's primary context
    kMappedNow = 4,  // a graphics resource between map and unmap
    kSegment = 8,    // a driver allocation or reservation in which a framework's blocks lie or lay, and its VMM handles
    kSmallPool = 16,   // segments and blocks: of the framework's pool for small blocks (see blocks.h)
    kOffloaded = 32,   // a block of which something is unmapped now
    kDeviceSaid = 64,  // a block whose device the framework named
};

struct Allocation {
    uint64_t id = 0;       // 1, 2, …: unique in a replay, in order of birth
    uint64_t address = 0;  // 0 for things that have only a handle
    uint64_t object = 0;   // VMM handle, array, module, …; graph memory: its graph; block: its segment's id, or 0
    uint64_t bytes = 0;    // asked for. Counted in quantity(), unless that is Handle: then what is only borrowed
    uint64_t pool = 0;     // pool memory: the pool's handle, 0 = the device's default pool
    Moment birth;          // graph memory: the launch that made it live; site and stack are the node's
    uint64_t mapped_bytes = 0;  // VMM: bytes of it mapped now, summed over all mappings
    uint32_t references = 1;    // VMM handles, IPC openings, primary contexts
    uint32_t mappings = 0;      // VMM: mappings now; multicast: bindings now are not counted here
    SiteId site = 0;
    uint32_t stack = 0;
    uint32_t thread = 0;
    uint32_t tag = 0;  // Replay::tag_births() when it was born; means nothing here
    uint16_t context = trace::kNoContext;
    Kind kind = Kind::DeviceMemory;
    uint8_t device = trace::kNoDevice;  // of the memory, also where the quantity is counted per process
    uint8_t api = trace::kNoName;
    uint8_t label = trace::kNoName;
    uint8_t flags = 0;

    Quantity quantity() const { return quantity_of(kind); }
    // Bytes that this process's own totals count: borrowed memory is 0.
    uint64_t counted_bytes() const { return quantity() == Quantity::Handle ? 0 : bytes; }
    uint8_t counted_device() const { return counted_per_device(quantity()) ? device : trace::kNoDevice; }
};

enum class Ending : uint8_t {
    Freed,         // by its own call
    FreedByGraph,  // by a free node of a launched graph
    ContextEnded,  // with its context: destroyed, reset, or its last reference released
    OwnerEnded,    // with the thing it belonged to (a child graph with its parent, …)
    ContextLost,   // its free was refused because driver or context were gone: released, never a leak
    LostFree,      // its address or handle was given out again: the event of its end is missing
    SegmentEnded,  // a block whose segment went back to the driver while it was live: orphaned
};
constexpr size_t kEndings = 7;
std::string_view ending_name(Ending ending);

// How an allocation ended: who, when, where.
struct Release {
    Ending ending = Ending::Freed;
    Moment moment;
    uint32_t stack = 0;
    uint32_t thread = 0;
    uint8_t api = trace::kNoName;
    uint8_t label = trace::kNoName;
};

}  // namespace vramtrace::replay
