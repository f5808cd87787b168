// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "trace/event.h"

namespace vramtrace::replay {

// What did not fit together. None is an error of the program's by itself (events may have been lost, memory may have been
// made before recording began); all are shown.
struct Oddities {
    uint64_t unmatched_releases = 0;  // of an address or handle that nothing is known of
    uint64_t unmatched_uses = 0;      // map, unmap, retain, bind or launch of an unknown handle or range
    uint64_t refused_releases = 0;    // taken back by FreeFailed: the thing is live again
    uint64_t refused_unknown = 0;     // FreeFailed that names a release we do not know (any more), or one of nothing
    uint64_t context_lost = 0;        // refused because driver or context were gone: counted as released
    uint64_t lost_frees = 0;          // things closed because their address or handle was given out again
    uint64_t unknown_events = 0;      // kinds of a newer version
    uint64_t out_of_order = 0;        // tickets that did not grow
    uint64_t in_flight_unknown = 0;   // releases in flight at the process's death that we do not know (any more)
    std::map<trace::EventKind, uint64_t> unmatched_by_kind;  // of the first two
};

}  // namespace vramtrace::replay
