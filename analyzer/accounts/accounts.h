// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/accounts/amount.h"
#include "analyzer/accounts/block_table.h"
#include "analyzer/accounts/phase_table.h"
#include "analyzer/instant/address_map.h"
#include "analyzer/instant/decomposition.h"
#include "analyzer/instant/segment_map.h"
#include "analyzer/replay/allocation.h"
#include "analyzer/replay/observer.h"
#include "analyzer/replay/oddities.h"
#include "trace/event.h"
#include "trace/event_source.h"

// THE NUMBERS EVERY VIEW SHOWS: report, JSON, diff, gate and export read them and never add up anything themselves,
// except rows of `sites` grouped by name: all sums here are exact, so sums of rows are too.
// Units: bytes, ns on CLOCK_MONOTONIC. A snapshot: it owns everything and outlives the accountant.
namespace vramtrace::accounts {

using replay::Allocation;
using replay::Ending;
using replay::Kind;
using replay::Moment;
using replay::Oddities;
using replay::Quantity;
using replay::SiteId;
using replay::SiteKey;

// One line per device and quantity. Host quantities and address space: device = kNoDevice.
struct Total {
    uint8_t device = trace::kNoDevice;
    Quantity quantity = Quantity::Device;
    Amount live;  // at the end; what is in flight is not in it
    Amount peak;  // bytes (pieces for handles) at their greatest, first time that value was reached
    Moment peak_moment;
    Amount allocated;                            // over the whole trace
    std::array<Amount, replay::kEndings> ended;  // by Ending
    Amount in_flight;                            // released, but the real call had not returned when the process died
    Amount left;  // never freed by the program: see Leak::live. What a leak summary sums up
};

// A call site: stack, API, label, kind and device. Rows of one (device, quantity) sum to its Total exactly:
// live, allocated, ended, in_flight and at_peak alike.
struct Site {
    SiteKey key;
    Amount live;
    Amount allocated;
    Amount at_peak;   // of its (device, quantity) when that Total was at its peak
    Amount own_peak;  // the most this site ever had live
    Moment own_peak_moment;
    std::array<Amount, replay::kEndings> ended;
    Amount in_flight;
    Amount left;           // never freed by the program: see Leak::live
    Amount left_segments;  // of these: see Leak::segments
    uint64_t largest = 0;  // largest single allocation
    Moment first, last;    // first and last allocation
    // Churn: allocations that ended by a free, and how long they lived (ns). The median is that of a histogram with
    // power-of-two bounds: right within a factor of √2. A refused free is taken out again, except of least and greatest.
    uint64_t churned = 0;
    uint64_t lifetime_min = 0, lifetime_median = 0, lifetime_max = 0;
    uint64_t lifetime_sum = 0;
    std::vector<uint32_t> threads;  // that allocated here, in order of appearance; at most kSiteThreads
    bool more_threads = false;
    // Allocations after which the thread had done the same as before (rhythm.h); larger, smaller than the one before.
    uint64_t repeats = 0, larger = 0, smaller = 0;
    uint64_t failures = 0;            // refused attempts at this site
    uint64_t failures_recovered = 0;  // … after which the same thread obtained the same

    Quantity quantity() const { return key.quantity(); }
};
constexpr size_t kSiteThreads = 16;

// A thread, as far as its events show it. Nothing tells of a thread's end: `last` is the last sign of life.
struct Thread {
    uint32_t thread = 0;
    Moment first, last;
    uint64_t events = 0;
    uint8_t device = trace::kNoDevice;  // of its last event that tells one
};

// What one site left behind: memory never freed, handles never closed. Whether that is a leak is a verdict.
//
// A process that ends regularly takes its contexts down first (the runtime releases the primary one at exit): at the last
// event hardly anything is live, although nothing was freed. So what ended only because its context did, with no memory
// made after that, is left behind just as what is live; unless its own free came later and was too late.
struct Leak {
    SiteId site = 0;            // index in Accounts::sites
    Amount live;                // live at the end, or until its context ended at exit
    Amount ended_with_context;  // of these: the latter
    Amount owner_destroyed;     // of these: graph memory whose graph is gone, pool memory whose pool was destroyed
    Amount unmapped;            // of these: VMM handles without any mapping (bytes of the handle)
    Amount in_flight;           // counted apart: not in `live`
    Amount segments;            // of these: driver memory in which a framework keeps its blocks; they are told apart
    Amount offloaded;           // of these: blocks of which something is unmapped
    Moment first_birth, last_birth;
    uint64_t smallest = 0, largest = 0;
    std::vector<uint32_t> threads;  // that made them, at most kSiteThreads
    bool more_threads = false;
    // Of all those threads, the last sign of life of the one that was heard of last. Silence from there to the end of
    // the trace is all that can be known about a thread being gone.
    Moment last_sign;
    // An example, for addresses in a report: the largest, the earliest of equals.
    Allocation example;
};

// A framework gave up: the job saw an exception.
struct FrameworkFailure {
    Moment moment;
    SiteId site = 0;  // with the stack of the request
    uint8_t device = trace::kNoDevice;
    uint64_t bytes = 0;                    // asked for, as the framework rounded it
    uint64_t allocated = 0, reserved = 0;  // as the framework says
};

// One refused request. A framework's out-of-memory is the upper layer of the last refused driver call of its thread, if
// that was what it failed of; without one it is a failure of its own, with its own site.
struct Failure {
    Moment moment;
    SiteId site = 0;
    uint32_t thread = 0;
    uint8_t device = trace::kNoDevice;  // runtime_only: that of the thread's last call, as far as known
    uint16_t result = 0;                // CUresult; cudaError_t if runtime_only
    bool runtime_only = false;          // never reached the driver
    uint64_t bytes = 0;                 // asked for; 0 = not known
    // The state at that instant.
    uint64_t live_device = 0, live_managed = 0, live_host = 0;
    std::optional<uint64_t> free_bytes, total_bytes;  // the last MemoryInfo of the device at or before it, or the
    Moment sample;                                    // first one after it if that lies within a second
    std::optional<Moment> recovered;                  // when the same thread obtained the same request
    std::optional<FrameworkFailure> framework;        // the job saw an exception for it
    bool framework_only = false;                      // the driver was not asked, or said nothing
    bool earlier_attempt = false;                     // the framework asked again and failed again: see a later one
};

// An unclosed handle or borrowed memory (Quantity::Handle) at the end, by kind and device.
struct HandleCount {
    Kind kind = Kind::Stream;
    uint8_t device = trace::kNoDevice;
    uint64_t made = 0, live = 0, most = 0;
    uint64_t left = 0;            // never closed by the program: see Leak::live
    uint64_t borrowed_bytes = 0;  // live ones' bytes that are somebody else's memory, as far as known
};

struct MemorySample {
    Moment moment;
    uint64_t free_bytes = 0, total_bytes = 0;
};

// Bounded: at most kTimelinePoints, whatever the length of the trace; the extrema of every interval are exact.
struct TimelinePoint {
    uint64_t begin = 0, end = 0;  // interval [begin, end), ns
    uint64_t low = 0, high = 0;   // least and greatest live bytes in it
    uint64_t last = 0;            // at its end
};
constexpr size_t kTimelinePoints = 1024;
struct Timeline {
    uint8_t device = trace::kNoDevice;
    Quantity quantity = Quantity::Device;
    uint64_t interval = 0;  // ns; intervals without an event have no point: the value is the `last` before
    std::vector<TimelinePoint> points;
};

struct PoolTotal {
    uint8_t device = trace::kNoDevice;
    uint64_t pool = 0;  // 0 = default pool
    Amount live;
    uint64_t peak_live = 0;
    bool destroyed = false;                  // cuMemPoolDestroy was called; with live memory its end is deferred
    std::optional<replay::PoolSample> last;  // PoolInfo, if any was taken
    uint64_t peak_reserved = 0;              // over samples
    std::optional<uint64_t> release_threshold;
};

struct TextNote {
    trace::EventKind kind = trace::EventKind::Unhooked;  // or BlindSpot, RecordingStopped
    uint32_t text = 0;                                   // String definition
    uint64_t version = 0;                                // Unhooked: version asked
    Moment moment;
    uint64_t count = 0;
};

struct DeviceInstant {
    instant::Decomposition now;  // at the end: of the trace, of what was read so far, or before contexts ended at exit
    instant::Decomposition at_peak;               // of Quantity::Device
    instant::AddressMap addresses;                // holes, at that same instant
    std::optional<instant::SegmentMap> segments;  // inside a framework's segments, at that same instant
    uint64_t footprint_peak = 0;                  // most bytes of 2 MiB pages ever touched by plain device memory
};

struct Accounts {
    uint64_t events = 0;
    Moment first, last;
    std::map<trace::EventKind, uint64_t> events_by_kind;
    std::vector<Total> totals;   // sorted by device, then quantity; kNoDevice last
    std::vector<Site> sites;     // index = SiteId, unsorted
    std::vector<Leak> leaks;     // everything left behind, by site; most bytes first, then most pieces
    std::optional<Moment> exit;  // when contexts ended at exit, if they did
    uint64_t late_frees = 0;     // of things that had ended with their context just before
    std::vector<HandleCount> handles;
    std::vector<Failure> failures;  // the first kFirstFailures and the last kLastFailures, in order
    uint64_t failures_total = 0;    // of all, also those not listed
    uint64_t failures_recovered = 0;
    uint64_t framework_failures = 0;  // of them: of which a framework told the job
    std::vector<BlockTable> blocks;   // by device, host pools last; at the end, or before contexts ended at exit
    replay::OutsideBlocks outside;    // blocks outside CUDA memory
    std::vector<Thread> threads;      // by first event
    uint64_t threads_dropped = 0;     // more threads than kThreads: the longest silent ones were forgotten
    std::vector<Timeline> timelines;  // same order as totals
    std::map<uint8_t, std::vector<MemorySample>> memory_samples;  // by device, thinned to kMemorySamples
    std::vector<PoolTotal> pools;
    std::map<uint8_t, DeviceInstant> devices;
    Oddities oddities;
    std::vector<TextNote> notes;    // in order of appearance; at most kNotes
    std::optional<Moment> stopped;  // RecordingStopped: nothing can be judged after it
    std::optional<Moment> paused;   // stopped by the program's wish and not started again; releases are in the trace
    uint64_t pauses = 0;            // how often
    PhaseTable phases;
    std::optional<PhaseWindow> cut;  // the numbers are those of a phase alone (phase_cut.h says which)
    bool finished = false;           // the source's end was seen (Accountant::finish)

    const Total* total(uint8_t device, Quantity quantity) const;
    const Thread* thread(uint32_t tid) const;
};
constexpr size_t kFirstFailures = 100;
constexpr size_t kLastFailures = 156;
constexpr size_t kThreads = 65536;
constexpr size_t kMemorySamples = 4096;
constexpr size_t kNotes = 4096;

}  // namespace vramtrace::accounts
