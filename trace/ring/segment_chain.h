// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "trace/event.h"
#include "trace/ring/ring.h"

// THE SEGMENTS OF THIS PROCESS, as its writers use them: write into the current one, append another when it is full, wait
// once when no more is allowed, count what is lost.
//
//   segment 0 ── closed ──► segment 1 ── closed ──► segment 2 (current: a ring that the collector keeps free)
//   header: kept for ever   slots given back once drained
namespace vramtrace::trace {

// How a chain gets its segments: files in the job, memory in tests. Called with all signals blocked, one at a time.
struct SegmentMaker {
    // A fresh segment (head 0, tail 0, format and identity filled), or nullptr and errno.
    RingHeader* (*create)(void* context, uint32_t index, uint32_t slot_count) = nullptr;
    // The slots of a closed, drained segment may go; false if not now.
    bool (*release)(void* context, RingHeader* segment) = nullptr;
    void* context = nullptr;
};

// Usable when zero-filled (it lives in memory that is zero after a fork), then start().
class SegmentChain {
public:
    static constexpr uint32_t kMaxSegments = 4096;
    static constexpr uint64_t kNotWritten = ~0ULL;
    static constexpr uint64_t kLongestWait = 100'000'000;         // ns
    static constexpr uint64_t kCollectorSilence = 5'000'000'000;  // ns: a heartbeat older than this is a dead collector

    // Creates segment 0. `limit_bytes` of slots may exist undrained. False if the maker could not.
    bool start(const SegmentMaker& maker, uint64_t limit_bytes, uint32_t largest_slot_count);

    // Writes the event; Event::time (CLOCK_MONOTONIC) is taken for now. Its ticket in the process, or kNotWritten: counted
    // as Loss::RingFull. Waits kLongestWait at most, and not again until the collector has made room.
    uint64_t write(const Event& event);

    // Half of the slots that may exist are waiting for a collector.
    bool is_half_full() const;

    RingHeader* first() const { return segments_[0].load(std::memory_order_acquire); }
    RingHeader* current() const { return current_.load(std::memory_order_acquire); }

private:
    RingHeader* make_room(RingHeader* full, uint64_t now);
    RingHeader* successor(RingHeader* closed);
    bool append(RingHeader* full, uint64_t now);
    bool wait_for_room(RingHeader* full, uint64_t now);
    void release_drained();
    uint64_t lost(uint64_t now);

    std::atomic<RingHeader*> current_;    // release in start and append, pairs with the acquires
    std::atomic<uint32_t> appending_;     // 1 while a thread appends; its signals are blocked
    std::atomic<uint64_t> append_again_;  // time before which appending is not tried again after a failure
    std::atomic<uint64_t> waited_for_;    // position (first_ticket + tail) that a wait was in vain for, + 1
    uint32_t count_;                      // segments made; by the appender only
    uint32_t oldest_;                     // first segment whose slots may still be mapped; by the appender only
    std::atomic<uint32_t> held_;          // segments whose slots are mapped; by the appender only
    uint32_t allowed_;                    // segments that may be held at once
    uint32_t slot_count_;
    SegmentMaker maker_;
    std::atomic<RingHeader*> segments_[kMaxSegments];
};

}  // namespace vramtrace::trace
