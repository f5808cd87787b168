// SPDX-License-Identifier: Apache-2.0
#include "analyzer/instant/decomposition.h"

#include <algorithm>

namespace vramtrace::instant {
namespace {

// A damaged trace may claim any number of bytes; sums of a few of these stay in range.
int64_t signed_bytes(uint64_t bytes) {
    return static_cast<int64_t>(std::min(bytes, uint64_t{1} << 60));
}

}  // namespace

std::string_view part_name(Part part) {
    switch (part) {
        case Part::LiveRequested:
            return "live";
        case Part::DriverRounding:
            return "driver rounding";
        case Part::PoolPending:
            return "freed, pending in pools";
        case Part::PoolUnused:
            return "reserved by pools, unused";
        case Part::NotTraced:
            return "not explained by traced calls";
        case Part::Free:
            return "free";
    }
    return "unknown part";
}

std::optional<int64_t> Decomposition::bytes(Part part) const {
    for (const Line& line : lines) {
        if (line.part == part) return line.bytes;
    }
    return std::nullopt;
}

Decomposition decompose(const Inputs& in) {
    Decomposition out;
    out.device = in.device;
    out.moment = in.moment;
    const auto add = [&out](Part part, int64_t bytes, bool estimate, std::string_view formula) {
        out.lines.push_back({part, bytes, estimate, formula});
    };
    add(Part::LiveRequested, signed_bytes(in.live_bytes), false,
        "sum of the bytes asked for and not given back, in program order");
    add(Part::DriverRounding, signed_bytes(in.rounding_bytes()), true,
        "2 MiB x distinct 2 MiB pages touched by cuMemAlloc memory - its live bytes");
    if (in.pools_sampled) {
        add(Part::PoolPending, signed_bytes(in.pool_pending_bytes), true,
            "sum over pools of (used by the pool's count - live in program order) at its last sample");
        add(Part::PoolUnused, signed_bytes(in.pool_unused_bytes), true,
            "sum over pools of reserved at the last sample - live - pending");
    }
    if (!in.sample) return out;

    const bool carried = in.sample->moment.ticket != in.moment.ticket;
    const auto total = signed_bytes(in.sample->total_bytes);
    const auto tracked = signed_bytes(in.tracked_bytes());
    int64_t not_traced = total - signed_bytes(in.sample->free_bytes) - signed_bytes(in.sample->tracked_bytes);
    int64_t free_bytes = total - tracked - not_traced;
    if (free_bytes < 0) {  // more is tracked than can be there beside what was not traced then
        not_traced += free_bytes;
        free_bytes = 0;
    }
    add(Part::NotTraced, not_traced, carried,
        "(total - free) at the nearest cuMemGetInfo sample - tracked at that sample");
    add(Part::Free, free_bytes, carried, carried ? "total - tracked - not explained" : "free of cuMemGetInfo");
    out.measured = true;
    out.total_bytes = in.sample->total_bytes;
    out.used_bytes = static_cast<uint64_t>(total - free_bytes);
    out.sample = in.sample->moment;
    return out;
}

}  // namespace vramtrace::instant
