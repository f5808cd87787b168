// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "trace/event.h"
#include "trace/ring/ring.h"
#include "trace/test_point.h"

// WRITING ONE SLOT of one segment: no lock, no allocation, no system call; safe in signal handlers. The protocol is drawn
// in ring.h. What to do when a segment is full or closed: segment_chain.h.
namespace vramtrace::trace {

struct Slot {
    std::atomic<uint64_t> word[8];  // word[0]: state; the others: the event's bytes 8…63
};
static_assert(sizeof(Slot) == sizeof(Event));

inline uint32_t writer_slack(uint32_t slot_count) {
    return slot_count / 4 < kWriterSlack ? slot_count / 4 : kWriterSlack;
}

enum class Put : uint8_t { Written, Full, Closed };

// A segment as its writers see it.
class RingWriter {
public:
    explicit RingWriter(RingHeader& ring)
        : ring_(ring), slots_(reinterpret_cast<Slot*>(reinterpret_cast<char*>(&ring) + kRingHeaderBytes)) {}

    // Writes `event` into the next slot; Event::sequence is ignored. `ticket` = its number in this segment when Written.
    // `void_tickets` is raised by the tickets taken on the way that carry no event (see ring.h).
    Put put(const Event& event, uint64_t& ticket, uint32_t& void_tickets) {
        uint64_t words[8];
        std::memcpy(words, &event, sizeof words);
        const uint32_t slot_count = ring_.slot_count;
        const uint32_t slack = writer_slack(slot_count);
        for (;;) {
            // relaxed: only a hint, the fetch_add below decides.
            const uint64_t head = ring_.head.load(std::memory_order_relaxed);
            if (head & kHeadClosed) return Put::Closed;
            // acquire, pairs with the release in RingReader::advance_tail: the collector's copy of a slot was made before
            // the slot is written again.
            const uint64_t tail = ring_.tail.load(std::memory_order_acquire);
            if (static_cast<int64_t>(head - tail) >= static_cast<int64_t>(slot_count - slack)) return Put::Full;
            const uint64_t mine = ring_.head.fetch_add(1, std::memory_order_seq_cst);
            if (mine & kHeadClosed) return Put::Closed;
            VRAMTRACE_TEST_POINT("ring.ticket");
            if (static_cast<int64_t>(mine - tail) >= static_cast<int64_t>(slot_count)) {
                // More threads than the slack allows came in between: the slot may hold undrained data.
                ++void_tickets;
                return Put::Full;
            }
            if (fill(slots_[mine & (slot_count - 1)], 2 * (mine / slot_count), words)) {
                ticket = mine;
                return Put::Written;
            }
            ++void_tickets;
        }
    }

private:
    // False: the collector has given the ticket up, or a writer of an older lap may still be in the slot.
    static bool fill(Slot& slot, uint64_t free, const uint64_t* words) {
        uint64_t state = free;
        // acquire, pairs with the release of the stalled writer that freed a retired slot (below).
        if (!slot.word[0].compare_exchange_strong(state, free + 1, std::memory_order_acquire,
                                                  std::memory_order_relaxed)) {
            const bool claimable =
                (state & kSlotAbandoned) != 0 && (state & 1) == 0 && (state & ~kSlotAbandoned) < free;
            if (!claimable) return false;
            if (!slot.word[0].compare_exchange_strong(state, free + 1, std::memory_order_acquire,
                                                      std::memory_order_relaxed)) {
                return false;
            }
        }
        VRAMTRACE_TEST_POINT("ring.claimed");
        for (unsigned i = 1; i < 8; ++i) {
            // release, pairs with the acquire in RingReader::copy: a reader that sees this word sees the claim too.
            slot.word[i].store(words[i], std::memory_order_release);
            if (i == 4) VRAMTRACE_TEST_POINT("ring.half_filled");
        }
        VRAMTRACE_TEST_POINT("ring.filled");
        uint64_t claimed = free + 1;
        // release, pairs with the acquire in RingReader::state.
        if (slot.word[0].compare_exchange_strong(claimed, free + 2, std::memory_order_release,
                                                 std::memory_order_relaxed)) {
            VRAMTRACE_TEST_POINT("ring.committed");
            return true;
        }
        // Retired while we were in it: we are the one who knows that nobody is in it now.
        // The collector may have passed the slot in later laps meanwhile: whatever odd state it left becomes even.
        uint64_t state_now = slot.word[0].load(std::memory_order_relaxed);
        while ((state_now & kSlotAbandoned) != 0 && (state_now & 1) != 0 &&
               // release, pairs with the acquire of the next writer that claims the slot (above).
               !slot.word[0].compare_exchange_weak(state_now, state_now - 1, std::memory_order_release,
                                                   std::memory_order_relaxed)) {
        }
        return false;
    }

    RingHeader& ring_;
    Slot* slots_;
};

}  // namespace vramtrace::trace
