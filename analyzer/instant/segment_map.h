// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "analyzer/instant/fragmentation.h"
#include "analyzer/replay/replay.h"

namespace vramtrace::instant {

// FREE ROOM INSIDE A FRAMEWORK'S SEGMENTS on one device at this instant. In a reservation each run of mapped memory is one
// segment: blocks may span its mappings. A free piece serves only requests of its own pool.
struct SegmentMap {
    uint8_t device = trace::kNoDevice;
    SegmentSummary all, small, large;
    uint64_t segments = 0;  // driver allocations and runs
};

SegmentMap map_segments(const replay::Replay& replay, uint8_t device, uint64_t driver_free);

}  // namespace vramtrace::instant
