// SPDX-License-Identifier: Apache-2.0
#include "trace/ring/segment_chain.h"

#include "trace/ring/ring_writer.h"
#include "trace/ring/system_calls.h"
#include "trace/test_point.h"

namespace vramtrace::trace {

namespace {

constexpr long kPollNanoseconds = 100'000;
constexpr uint64_t kAppendRetry = 1'000'000'000;
constexpr uint32_t kSmallestSlotCount = 1024;

bool has_room(const RingHeader& ring) {
    const uint64_t head = ring.head.load(std::memory_order_relaxed);
    const uint64_t tail = ring.tail.load(std::memory_order_relaxed);
    const uint64_t usable = ring.slot_count - writer_slack(ring.slot_count);
    return (head & kHeadClosed) == 0 && static_cast<int64_t>(head - tail) < static_cast<int64_t>(usable);
}

// All tickets of a closed segment were read, and no writer can be in a slot of it.
bool drained_for_good(const RingHeader& ring) {
    const uint64_t closed_at = ring.closed_at.load(std::memory_order_relaxed);
    // acquire, pairs with the release in RingReader::advance_tail: abandoned counts all that was given up before it.
    return closed_at != 0 && ring.tail.load(std::memory_order_acquire) >= closed_at &&
           ring.abandoned.load(std::memory_order_relaxed) == 0;
}

}  // namespace

bool SegmentChain::start(const SegmentMaker& maker, uint64_t limit_bytes, uint32_t largest_slot_count) {
    maker_ = maker;
    slot_count_ = largest_slot_count;
    while (slot_count_ > kSmallestSlotCount && uint64_t{slot_count_} * sizeof(Event) > limit_bytes) slot_count_ /= 2;
    const uint64_t allowed = limit_bytes / (uint64_t{slot_count_} * sizeof(Event));
    allowed_ = allowed < 1 ? 1 : allowed > kMaxSegments ? kMaxSegments : static_cast<uint32_t>(allowed);
    RingHeader* first = maker_.create(maker_.context, 0, slot_count_);
    if (first == nullptr) return false;
    first->segments.store(1, std::memory_order_release);  // pairs with the acquire in RingReader::next_segment
    segments_[0].store(first, std::memory_order_release);
    count_ = 1;
    held_ = 1;
    current_.store(first, std::memory_order_release);
    return true;
}

bool SegmentChain::is_half_full() const {
    const RingHeader* ring = current();
    const uint64_t head = ring->head.load(std::memory_order_relaxed) & ~kHeadClosed;
    const uint64_t tail = ring->tail.load(std::memory_order_relaxed);
    // relaxed: an estimate. Earlier segments count as full until they are given back.
    const uint64_t earlier = uint64_t{held_.load(std::memory_order_relaxed) - 1} * slot_count_;
    return 2 * (earlier + (head > tail ? head - tail : 0)) >= uint64_t{allowed_} * slot_count_;
}

uint64_t SegmentChain::write(const Event& event) {
    RingHeader* ring = current_.load(std::memory_order_acquire);  // pairs with the release in append
    uint32_t void_tickets = 0;
    while (ring != nullptr) {
        uint64_t ticket = 0;
        switch (RingWriter(*ring).put(event, ticket, void_tickets)) {
            case Put::Written:
                if (void_tickets != 0) first()->rewritten.fetch_add(void_tickets, std::memory_order_relaxed);
                return ring->first_ticket + ticket;
            case Put::Closed:
                ring = successor(ring);
                break;
            case Put::Full:
                ring = make_room(ring, event.time);
                break;
        }
    }
    // The void tickets' event is this one: it must count once, as RingFull.
    if (void_tickets != 0) first()->rewritten.fetch_add(void_tickets, std::memory_order_relaxed);
    return lost(event.time);
}

uint64_t SegmentChain::lost(uint64_t now) {
    first()->losses[static_cast<size_t>(Loss::RingFull)].fetch_add(1, std::memory_order_relaxed);
    uint64_t none = 0;
    first()->first_loss_time.compare_exchange_strong(none, now, std::memory_order_relaxed);
    return kNotWritten;
}

// The appender publishes the next segment right after it closed this one.
RingHeader* SegmentChain::successor(RingHeader* closed) {
    const KeepErrno keep_errno;
    for (uint64_t waited = 0; waited < kLongestWait; waited += kPollNanoseconds) {
        RingHeader* ring = current_.load(std::memory_order_acquire);  // pairs with the release in append
        if (ring != closed) return ring;
        sys::sleep_nanoseconds(kPollNanoseconds);
    }
    return nullptr;
}

RingHeader* SegmentChain::make_room(RingHeader* full, uint64_t now) {
    const KeepErrno keep_errno;
    if (append(full, now) || wait_for_room(full, now)) return current_.load(std::memory_order_acquire);  // as above
    return nullptr;
}

// True if it is worth trying again: there is another segment now, or room in this one.
bool SegmentChain::append(RingHeader* full, uint64_t now) {
    if (now < append_again_.load(std::memory_order_relaxed)) return false;
    // No handler of the job may run on top of us: it would wait for us to finish, or jump out and leave appending_ set.
    const BlockSignals block;
    VRAMTRACE_TEST_POINT("segment.full");
    // acquire, pairs with the release at the end of an append: what it published is seen from here on. Whoever appends
    // now may do it for an older segment, and publish nothing: then it is our turn.
    uint64_t waited = 0;
    for (uint32_t idle = 0;
         !appending_.compare_exchange_strong(idle, 1, std::memory_order_acquire, std::memory_order_relaxed);
         idle = 0, waited += kPollNanoseconds) {
        VRAMTRACE_TEST_POINT("segment.looked");
        if (current_.load(std::memory_order_relaxed) != full || has_room(*full)) return true;
        if (waited >= kLongestWait || now < append_again_.load(std::memory_order_relaxed)) return false;
        sys::sleep_nanoseconds(kPollNanoseconds);
    }
    VRAMTRACE_TEST_POINT("segment.appending");
    bool worth = current_.load(std::memory_order_relaxed) != full || has_room(*full);
    if (!worth) {
        release_drained();
        RingHeader* next = nullptr;
        if (held_ < allowed_ && count_ < kMaxSegments) {
            next = maker_.create(maker_.context, count_, slot_count_);
            first()->append_error.store(next != nullptr ? 0 : errno, std::memory_order_relaxed);
        }
        if (next == nullptr) {
            // At the limit: look again when the collector may have drained something. Failed: not for each event.
            append_again_.store(now + (held_ < allowed_ ? kAppendRetry : kAppendRetry / 10), std::memory_order_relaxed);
        } else {
            VRAMTRACE_TEST_POINT("segment.created");
            // seq_cst as the writers' fetch_add: each of them is before the close and has a ticket, or sees it.
            const uint64_t tickets = full->head.fetch_or(kHeadClosed, std::memory_order_seq_cst);
            VRAMTRACE_TEST_POINT("segment.closed");
            next->first_ticket = full->first_ticket + tickets;
            full->closed_at.store(tickets, std::memory_order_release);  // pairs with RingReader::tickets_of_segment
            VRAMTRACE_TEST_POINT("segment.closed_at");
            segments_[count_].store(next, std::memory_order_release);
            ++count_;
            ++held_;
            first()->segments.store(count_, std::memory_order_release);  // pairs with RingReader::next_segment
            VRAMTRACE_TEST_POINT("segment.published");
            current_.store(next, std::memory_order_release);  // pairs with the acquires in write and successor
            VRAMTRACE_TEST_POINT("segment.current");
            worth = true;
        }
    }
    appending_.store(0, std::memory_order_release);
    return worth;
}

void SegmentChain::release_drained() {
    bool all_before_gone = true;
    for (uint32_t index = oldest_; index + 1 < count_; ++index) {
        RingHeader* ring = segments_[index].load(std::memory_order_relaxed);
        const bool gone = ring == nullptr || (drained_for_good(*ring) && maker_.release(maker_.context, ring));
        if (gone && ring != nullptr) {
            segments_[index].store(index == 0 ? ring : nullptr, std::memory_order_relaxed);  // first() stays
            --held_;
        }
        if (!gone) all_before_gone = false;
        if (all_before_gone) oldest_ = index + 1;
    }
}

// One wait for the collector; a second one only after it has moved the tail.
bool SegmentChain::wait_for_room(RingHeader* full, uint64_t now) {
    const RingHeader* header = first();
    const uint64_t heartbeat = header->heartbeat.load(std::memory_order_relaxed);
    if (heartbeat == 0 || (now > heartbeat && now - heartbeat > kCollectorSilence)) return false;
    const uint64_t position = full->first_ticket + full->tail.load(std::memory_order_relaxed) + 1;
    if (waited_for_.load(std::memory_order_relaxed) == position) return false;
    for (uint64_t waited = 0; waited < kLongestWait; waited += kPollNanoseconds) {
        if (current_.load(std::memory_order_relaxed) != full || has_room(*full)) return true;
        sys::sleep_nanoseconds(kPollNanoseconds);
    }
    waited_for_.store(position, std::memory_order_relaxed);
    return false;
}

}  // namespace vramtrace::trace
