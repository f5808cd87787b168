// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/accounts/amount.h"
#include "analyzer/replay/allocation.h"
#include "analyzer/replay/quantities.h"

// WHAT THE PHASES OF A PROGRAM DID. A phase is all ranges of one path ("epoch/step/forward"), whether from NVTX or from the
// marker interface. A range is a window of time of the whole process: what any thread allocates or frees while it is open
// counts in it (the backward pass runs on a thread of the framework's).
namespace vramtrace::accounts {

// One quantity on one device (kNoDevice: of the process) in one range.
struct PhaseAmounts {
    uint8_t device = trace::kNoDevice;
    replay::Quantity quantity = replay::Quantity::Device;
    uint64_t live_begin = 0, live_end = 0;  // bytes
    uint64_t peak = 0;                      // most bytes live at once while it was open; at least live_begin
    replay::Moment peak_moment;
    Amount allocated, freed;  // while it was open
    Amount survivors;         // born in it and live at its end
};

struct PhaseOccurrence {
    uint64_t number = 0;  // of its phase: 0, 1, 2, …
    replay::Moment begin, end;
    uint32_t thread = 0;  // that opened it
    uint64_t id = 0;      // 0: nested in its thread
    bool open = false;    // still, at the end of the trace; `end` is that end then
    std::vector<PhaseAmounts> amounts;
};

// One quantity on one device in all ranges of a phase.
struct PhaseSum {
    uint8_t device = trace::kNoDevice;
    replay::Quantity quantity = replay::Quantity::Device;
    int64_t change = 0;                             // live_end − live_begin, summed
    int64_t least_change = 0, greatest_change = 0;  // of one range
    uint64_t peak = 0;                              // the highest of its ranges
    replay::Moment peak_moment;
    uint64_t rise = 0;                   // the greatest peak − live_begin of one range
    Amount allocated, freed, survivors;  // summed; a thing born in two overlapping ranges counts in both
    Amount left;                         // born in any of them and never freed by the program: each thing once
};

struct Phase {
    std::string path;
    uint32_t depth = 0;  // names before the last
    uint64_t occurrences = 0;
    uint64_t open = 0;      // of these: still open at the end
    uint64_t duration = 0;  // ns, summed
    bool by_nvtx = false, by_marker = false;
    replay::Moment first;           // first begin
    std::vector<uint32_t> threads;  // that opened it, at most 16
    bool more_threads = false;
    std::vector<PhaseSum> sums;         // by device, then quantity; only what was not 0 all the time
    std::vector<PhaseOccurrence> kept;  // the first and the last kPhaseOccurrences, in order
};
constexpr uint64_t kPhaseOccurrences = 8;

struct PhaseTable {
    std::vector<Phase> phases;  // by first begin
    uint64_t marks = 0;
    uint64_t unmatched_ends = 0;   // ends of ranges that were not open: begun before the trace, or one pop too many
    uint64_t not_measured = 0;     // ranges beyond kOpenRanges open at once, or kRangeDepth deep in their thread
    uint64_t nameless = 0;         // ranges of more than kPhasePaths different paths: summed up under kOtherPhases
    bool left_incomplete = false;  // more combinations of open phases than are kept apart: `left` is too small
};

// What accounts were cut to.
struct PhaseWindow {
    std::string pattern;
    uint64_t ranges = 0;         // that matched
    uint64_t windows = 0;        // of time in which at least one was open
    uint64_t duration = 0;       // ns, of the windows
    replay::Moment first, last;  // begin of the first, end of the last
    bool open = false;           // a range of it is open at the end: `last` is that end then
};
constexpr size_t kOpenRanges = 512;
constexpr size_t kRangeDepth = 64;
constexpr size_t kPhasePaths = 4096;
constexpr char kOtherPhases[] = "(other phases)";

}  // namespace vramtrace::accounts
