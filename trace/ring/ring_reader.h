// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/event.h"
#include "trace/process_header.h"
#include "trace/ring/ring.h"
#include "trace/ring/ring_writer.h"

// READING A RING, by whom it may be:
//   Collector   the one that drains: gives up slots of dead or stalled writers, moves the tail (mapping read-write)
//   Live        anybody else while job and collector run: changes nothing, notices slots that are reused under it
//   PostMortem  the job is dead and nobody drains: changes nothing, passes over what was never committed and counts it
namespace vramtrace::trace {

// Where a reader gets the segments from: files (ring_file.h RingFiles), or memory in tests. Segments are numbered 0, 1, …
class SegmentSource {
public:
    struct View {
        RingHeader* header = nullptr;  // for Live and PostMortem possibly mapped read-only: only loads are made
        Slot* slots = nullptr;
        uint32_t slot_count = 0;  // validated against the bytes that are there; a power of two
    };
    virtual ~SegmentSource() = default;
    // nullptr header: not there (yet), or already drained and removed.
    virtual View segment(uint32_t index) = 0;
    // The reader has advanced the tail past all of the segment (Collector), or read all of it (others).
    virtual void finished(uint32_t index) = 0;
};

enum class ReaderRole : uint8_t { Collector, Live, PostMortem };

enum class BatchEnd : uint8_t {
    Full,      // `out` is full: there may be more
    Idle,      // the next ticket is not committed yet, or all were read; the process may still write
    Finished,  // PostMortem, or Collector with process_dead: nothing will ever come after this
    Recycled,  // Live, PostMortem: the collector has passed position(): read on in the container, then seek() behind it
    Damaged,   // the segment's numbers make no sense (head, tail, a slot's lap): what could be saved was given before
};

class RingReader {
public:
    // Reading starts at the tail of the first segment that is there and not fully drained.
    RingReader(SegmentSource& source, ReaderRole role) : source_(source), role_(role) {}

    // False if segment 0 is not there.
    bool open();

    // Go on at this ticket of the process if it lies ahead (a restarted collector whose last block is newer than the
    // tail; a reader that has read a container first). The tickets before it are counted nowhere.
    void seek(uint64_t ticket);

    struct Batch {
        size_t events = 0;
        BatchEnd end = BatchEnd::Idle;
    };
    // Copies committed events in ticket order; Event::sequence = ticket in the process. Stops at a slot that is not
    // committed. Collector: such a slot is given up when `process_dead`, or once it was the next one for a second of
    // `now` (CLOCK_MONOTONIC ns; a collector that knows the job is stopped by a signal passes now = 0: nothing expires).
    Batch next_batch(std::span<Event> out, uint64_t now, bool process_dead);

    // Collector: all events before `ticket` (usually position()) are durable; their slots may be reused.
    void advance_tail(uint64_t ticket);

    uint64_t position() const { return first_ticket_ + next_; }  // ticket that will be read next
    uint64_t void_tickets() const { return void_tickets_; }      // met so far by this reader: gaps that are explained
    uint64_t missing_tickets() const { return missing_; }        // gaps between segments that nothing explains
    const RingHeader* header() const { return first_; }          // segment 0's: identity, losses, heartbeat, in flight
    RingHeader* writable_header() const { return role_ == ReaderRole::Collector ? first_ : nullptr; }

    static constexpr uint64_t kStallNanoseconds = 1'000'000'000;

private:
    enum class SlotResult : uint8_t { Copied, NotYet, Void, Recycled, Damaged };
    SlotResult read_slot(uint64_t ticket, Event& out);
    SlotResult pass_retired(uint64_t ticket, uint64_t state);
    bool give_up(uint64_t ticket);
    bool copy(const Slot& slot, uint64_t committed, uint64_t ticket, Event& out) const;
    uint64_t tickets_of_segment(bool& closed) const;
    bool next_segment();
    bool enter_segment(uint32_t index);
    void count_void();
    bool expired(uint64_t now, bool process_dead);
    bool reused(uint64_t ticket) const;

    SegmentSource& source_;
    ReaderRole role_;
    RingHeader* first_ = nullptr;
    SegmentSource::View view_;  // segment being read
    bool over_ = false;         // nobody writes any more
    uint32_t segment_ = 0;
    uint64_t first_ticket_ = 0;  // of that segment
    uint64_t next_ = 0;          // ticket in that segment
    uint32_t tail_segment_ = 0;  // Collector: segment in which the tail stands
    uint64_t waiting_ticket_ = ~0ULL, waiting_since_ = 0;
    uint64_t void_tickets_ = 0;
    uint64_t missing_ = 0;
};

// The losses of a process: segment 0's counters, Loss::Abandoned without the events that were written again.
// `uncounted_void` = void tickets met by a reader that may not count them in the header (Live, PostMortem).
void read_losses(const RingHeader& first, uint64_t uncounted_void, uint64_t (&losses)[kLossCounters]);

// Tickets of releases that had been recorded and not returned from; at most tickets.size().
size_t read_in_flight(const RingHeader& first, std::span<uint64_t> tickets);

}  // namespace vramtrace::trace
