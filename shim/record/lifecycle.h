// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/settings.h"
#include "trace/process_header.h"
#include "trace/ring/definition_table.h"
#include "trace/ring/ring_file.h"
#include "trace/ring/segment_chain.h"

// THE LIFE OF A RECORDING in this process:
//
//   Fresh ──first event that may open──► Opening ──► Open      (ring, definitions, facts, collector)
//                                            └─────► Refused   (one line said why; nothing is tried again)
//
// The whole state is one object in arena memory: all zero in a fork's child, which is "Fresh", so that the child opens its
// own trace at its own first event; the mappings it would have named are not there in the child (MADV_DONTFORK).
// exec in place: the new program finds the old one's files by pid and start time and takes the next counter.
namespace vramtrace::shim {

enum class RecordingState : uint32_t { Fresh = 0, Opening = 1, Open = 2, Refused = 3 };

struct Recording {
    static constexpr size_t kInterned = 4096;

    std::atomic<RecordingState> state;  // release when Open: pairs with the acquire in open_recording_or_null
    uint32_t instance;                  // thread_state.instance of threads that have been here
    uint32_t stack_depth;
    bool free_stacks;
    bool python_stacks;
    std::atomic<uint64_t> next_check;  // CLOCK_MONOTONIC ns: when somebody looks at the collector's heartbeat again
    trace::SegmentChain chain;
    trace::DefinitionTable definitions;

    // Strings, facts and devices already defined: hash << 32 | id, 0 = free; open addressing.
    std::atomic<uint64_t> interned[kInterned];

    // What only opening, appending and launching look at.
    const Settings* settings;
    uint32_t opener;                    // thread that is opening, so that it does not wait for itself
    std::atomic<uint64_t> before_open;  // events dropped while another thread was opening
    trace::ProcessIdentity identity;
    trace::Space space;
    trace::DefinitionFileFacts definition_facts;
    uint64_t next_launch;  // with next_check's CAS won
    uint64_t launch_pause;
    char directory[4096];     // absolute
    char prefix[4096];        // of ring and definitions
    char segment_path[4096];  // scratch of the appending thread
    char collector[4096];     // "" = none
};

// The recording if it is open in this process: two loads.
Recording* open_recording_or_null();

// The same, opened now if nobody did yet. nullptr: refused, or another thread is still at it.
Recording* open_recording();

// At most once a second: starts the collector again if its heartbeat is old. `now` = CLOCK_MONOTONIC ns.
void check_collector(Recording& recording, uint64_t now);

// While the ring is being opened, for define(): the opening thread's, else open_recording_or_null().
Recording* recording_to_define_in();

}  // namespace vramtrace::shim
