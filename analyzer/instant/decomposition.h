// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/replay/allocation.h"
#include "trace/event.h"

// WHERE A DEVICE'S BYTES ARE at one instant: parts that sum to its total, each with the formula it was computed by.
namespace vramtrace::instant {

enum class Part : uint8_t {
    LiveRequested,   // what the program asked for and has not given back
    DriverRounding,  // estimate: whole 2 MiB pages that hold small allocations, less what was asked for in them
    PoolPending,     // freed in program order, the stream has not reached the free
    PoolUnused,      // reserved by pools, used by nothing: can be trimmed
    NotTraced,       // contexts, code, local memory, other processes: used by the device, explained by no traced call
    Free,            // as the driver says
};

struct Line {
    Part part = Part::LiveRequested;
    int64_t bytes =
        0;  // NotTraced is negative where more was asked for than the device holds: never backed, or lost ends
    bool estimate = false;
    std::string_view formula;  // static text
};
std::string_view part_name(Part part);

// Everything the arithmetic needs; filled by accounts/ (end and peak) or from a frozen instant.
struct Inputs {
    uint8_t device = trace::kNoDevice;
    replay::Moment moment;
    uint64_t live_bytes = 0;        // Quantity::Device
    uint64_t footprint_bytes = 0;   // 2 MiB pages touched by plain device allocations
    uint64_t paged_live_bytes = 0;  // live bytes of just those allocations
    bool pools_sampled = false;
    uint64_t pool_pending_bytes = 0;
    uint64_t pool_unused_bytes = 0;
    // The nearest MemoryInfo, and what was tracked (see below) when it was taken. Contexts and code change rarely, live
    // memory all the time: what no call explains is taken from the sample's own instant and carried over to this one.
    struct Sample {
        replay::Moment moment;
        uint64_t free_bytes = 0;
        uint64_t total_bytes = 0;
        uint64_t tracked_bytes = 0;
    };
    std::optional<Sample> sample;

    // Bytes of the device that traced calls explain: live + rounding + what pools hold beyond their live bytes.
    uint64_t rounding_bytes() const {
        return footprint_bytes > paged_live_bytes ? footprint_bytes - paged_live_bytes : 0;
    }
    uint64_t tracked_bytes() const { return live_bytes + rounding_bytes() + pool_pending_bytes + pool_unused_bytes; }
};

struct Decomposition {
    uint8_t device = trace::kNoDevice;
    replay::Moment moment;
    std::vector<Line> lines;  // in the order of Part; parts that cannot be known are left out
    bool measured = false;    // a MemoryInfo was at hand: the lines sum to total_bytes
    uint64_t total_bytes = 0;
    uint64_t used_bytes = 0;  // tracked + not traced
    replay::Moment sample;    // the MemoryInfo's moment

    std::optional<int64_t> bytes(Part part) const;
};

Decomposition decompose(const Inputs& inputs);

}  // namespace vramtrace::instant
