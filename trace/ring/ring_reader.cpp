// SPDX-License-Identifier: Apache-2.0
#include "trace/ring/ring_reader.h"

#include <cstring>

namespace vramtrace::trace {

namespace {

// How far a head may be beyond the room: writers that passed the room check together (PID_MAX_LIMIT).
constexpr uint64_t kMostThreads = 1U << 22;

}  // namespace

bool RingReader::open() {
    const SegmentSource::View first = source_.segment(0);
    if (first.header == nullptr) return false;
    first_ = first.header;
    view_ = first;
    segment_ = tail_segment_ = 0;
    first_ticket_ = first.header->first_ticket;
    // relaxed: only the collector writes it, and that is us or somebody whose later steps only put us further behind.
    next_ = first.header->tail.load(std::memory_order_relaxed);
    return true;
}

void RingReader::seek(uint64_t ticket) {
    while (first_ != nullptr && ticket > position()) {
        bool closed = false;
        const uint64_t tickets = tickets_of_segment(closed);
        const uint64_t wanted = ticket - first_ticket_;
        if (wanted <= tickets) {
            next_ = wanted;
            return;
        }
        next_ = tickets;
        const uint64_t missing = missing_;
        if (!closed || !next_segment()) return;
        missing_ = missing + (first_ticket_ > ticket ? first_ticket_ - ticket : 0);
    }
}

// Tickets that the segment has handed out so far; `closed`: and will ever hand out.
uint64_t RingReader::tickets_of_segment(bool& closed) const {
    // acquire, pairs with the release in SegmentChain::append.
    const uint64_t closed_at = view_.header->closed_at.load(std::memory_order_acquire);
    if (closed_at != 0) {
        closed = true;
        return closed_at;
    }
    // seq_cst as the writers' fetch_add; the slots' states order the content.
    const uint64_t head = view_.header->head.load(std::memory_order_seq_cst);
    closed = (head & kHeadClosed) != 0;
    if (!closed) return head;
    // Closed, and the closer has not said at which ticket. Live: it will in a moment. Dead: writers that came after the
    // close have raised the number by one each, so this is an upper limit.
    closed = over_;
    return closed ? head & ~kHeadClosed : next_;
}

bool RingReader::next_segment() {
    // acquire, pairs with the release in SegmentChain::append: the segments' headers are complete.
    const uint32_t segments = first_->segments.load(std::memory_order_acquire);
    for (uint32_t index = segment_ + 1; index < segments; ++index) {
        if (enter_segment(index)) return true;
    }
    return false;
}

bool RingReader::enter_segment(uint32_t index) {
    const SegmentSource::View view = source_.segment(index);
    if (view.header == nullptr) return false;  // drained and removed by an earlier collector, or not readable
    const uint64_t expected = position();
    if (view.header->first_ticket < expected) return false;  // makes no sense: never give a ticket twice
    const uint32_t left = segment_;
    view_ = view;
    segment_ = index;
    first_ticket_ = view.header->first_ticket;
    next_ = view.header->tail.load(std::memory_order_relaxed);
    // Segments that a collector drained and removed: a reader that knows the container has asked to go on behind them.
    missing_ += first_ticket_ - expected;
    if (role_ != ReaderRole::Collector) source_.finished(left);
    return true;
}

void RingReader::count_void() {
    ++void_tickets_;
    if (role_ != ReaderRole::Collector) return;
    // relaxed: ordered before the tail's release in advance_tail, which is what SegmentChain acquires.
    view_.header->abandoned.fetch_add(1, std::memory_order_relaxed);
    first_->losses[static_cast<size_t>(Loss::Abandoned)].fetch_add(1, std::memory_order_relaxed);
}

// False if the slot was claimed by a later lap while it was copied.
bool RingReader::copy(const Slot& slot, uint64_t committed, uint64_t ticket, Event& out) const {
    uint64_t words[8];
    words[0] = ticket;
    // acquire, pairs with the release of RingWriter::fill: whoever sees a later lap's word sees its claim below.
    for (unsigned i = 1; i < 8; ++i) words[i] = slot.word[i].load(std::memory_order_acquire);
    std::memcpy(&out, words, sizeof out);
    return slot.word[0].load(std::memory_order_relaxed) == committed;
}

RingReader::SlotResult RingReader::read_slot(uint64_t ticket, Event& out) {
    const Slot& slot = view_.slots[ticket & (view_.slot_count - 1)];
    const uint64_t free = 2 * (ticket / view_.slot_count);
    // acquire, pairs with the release that commits in RingWriter::fill.
    const uint64_t state = slot.word[0].load(std::memory_order_acquire);
    if (state == free + 2) {
        if (copy(slot, state, first_ticket_ + ticket, out)) return SlotResult::Copied;
        return reused(ticket) ? SlotResult::Recycled : SlotResult::Damaged;
    }
    if (reused(ticket)) return SlotResult::Recycled;
    const uint64_t lap = state & ~kSlotAbandoned;
    if (state & kSlotAbandoned) {
        if (lap == free || lap == free + 1) return SlotResult::Void;  // given up, by an earlier collector perhaps
        if (lap < free) return (lap & 1) != 0 ? pass_retired(ticket, state) : SlotResult::NotYet;
    } else if (lap == free || lap == free + 1) {
        return SlotResult::NotYet;
    }
    return SlotResult::Damaged;
}

// A writer of an older lap is still in the slot: the ticket's own writer will not claim it and writes again elsewhere, so
// the ticket is void at once. The slot must say so, or that writer, coming late, could claim it after the old one has left.
RingReader::SlotResult RingReader::pass_retired(uint64_t ticket, uint64_t state) {
    if (role_ == ReaderRole::PostMortem) return SlotResult::Void;
    if (role_ == ReaderRole::Live) return SlotResult::NotYet;
    const uint64_t free = 2 * (ticket / view_.slot_count);
    Slot& slot = view_.slots[ticket & (view_.slot_count - 1)];
    // acq_rel, pairs with the release of the old writer that leaves, in RingWriter::fill.
    return slot.word[0].compare_exchange_strong(state, kSlotAbandoned | (free + 1), std::memory_order_acq_rel,
                                                std::memory_order_relaxed)
               ? SlotResult::Void
               : SlotResult::NotYet;
}

// A collector has passed the ticket: its slot may hold a later event, or nothing because the segment was given back.
bool RingReader::reused(uint64_t ticket) const {
    // acquire, pairs with the release in advance_tail: the container has the ticket.
    return role_ != ReaderRole::Collector && view_.header->tail.load(std::memory_order_acquire) > ticket;
}

// The writer of `ticket` is dead or stalled. True: the ticket is void now. False: it was committed after all.
bool RingReader::give_up(uint64_t ticket) {
    if (role_ != ReaderRole::Collector) return true;
    Slot& slot = view_.slots[ticket & (view_.slot_count - 1)];
    const uint64_t free = 2 * (ticket / view_.slot_count);
    uint64_t state = slot.word[0].load(std::memory_order_relaxed);
    for (;;) {
        if (state == free + 2) return false;
        // Odd: somebody is in the slot, of this lap or of an older one that was given up.
        const uint64_t abandoned = kSlotAbandoned | free | (state & 1);
        if (state == abandoned) return true;
        // acq_rel, pairs with the writer's CASes in RingWriter::fill: exactly one of us wins.
        if (slot.word[0].compare_exchange_weak(state, abandoned, std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
            return true;
        }
    }
}

bool RingReader::expired(uint64_t now, bool process_dead) {
    if (role_ == ReaderRole::PostMortem) return true;
    if (role_ == ReaderRole::Live) return false;
    if (process_dead) return true;
    if (now == 0) {
        waiting_ticket_ = ~0ULL;
        return false;
    }
    if (waiting_ticket_ != position()) {
        waiting_ticket_ = position();
        waiting_since_ = now;
        return false;
    }
    return now > waiting_since_ && now - waiting_since_ >= kStallNanoseconds;
}

RingReader::Batch RingReader::next_batch(std::span<Event> out, uint64_t now, bool process_dead) {
    Batch batch;
    if (first_ == nullptr) return batch;
    over_ = role_ == ReaderRole::PostMortem || (role_ == ReaderRole::Collector && process_dead);
    batch.end = BatchEnd::Full;
    while (batch.events < out.size()) {
        bool closed = false;
        const uint64_t tickets = tickets_of_segment(closed);
        if (next_ > tickets) {
            batch.end = BatchEnd::Damaged;
            return batch;
        }
        if (next_ == tickets) {
            if (closed && next_segment()) continue;
            batch.end = over_ ? BatchEnd::Finished : BatchEnd::Idle;
            return batch;
        }
        const uint64_t ahead = tickets - next_;
        if (ahead > view_.slot_count + kMostThreads) {
            // A reader that is laps behind the collector; else such a head cannot be (writers ask for room).
            batch.end = reused(next_) ? BatchEnd::Recycled : BatchEnd::Damaged;
            return batch;
        }
        switch (read_slot(next_, out[batch.events])) {
            case SlotResult::Copied:
                ++batch.events;
                ++next_;
                break;
            case SlotResult::Void:
                count_void();
                ++next_;
                break;
            case SlotResult::NotYet:
                if (!expired(now, process_dead)) {
                    batch.end = BatchEnd::Idle;
                    return batch;
                }
                if (give_up(next_)) {
                    count_void();
                    ++next_;
                }
                break;
            case SlotResult::Recycled:
                batch.end = BatchEnd::Recycled;
                return batch;
            case SlotResult::Damaged:
                batch.end = BatchEnd::Damaged;
                return batch;
        }
    }
    return batch;
}

void RingReader::advance_tail(uint64_t ticket) {
    if (role_ != ReaderRole::Collector || first_ == nullptr) return;
    if (ticket > position()) ticket = position();
    while (tail_segment_ < segment_) {
        const SegmentSource::View view = source_.segment(tail_segment_);
        if (view.header != nullptr) {
            // acquire, pairs with the release in SegmentChain::append: we left the segment because it was closed.
            const uint64_t closed_at = view.header->closed_at.load(std::memory_order_acquire);
            if (ticket < view.header->first_ticket + closed_at) {
                if (ticket > view.header->first_ticket) {
                    // release, pairs with the acquire in RingWriter::put: our copies came before.
                    view.header->tail.store(ticket - view.header->first_ticket, std::memory_order_release);
                }
                return;
            }
            view.header->tail.store(closed_at, std::memory_order_release);  // as above
            source_.finished(tail_segment_);
        }
        ++tail_segment_;
    }
    if (ticket > first_ticket_) {
        // Never back: a restarted collector may be told of less than the tail already covers.
        const uint64_t tail = view_.header->tail.load(std::memory_order_relaxed);
        if (ticket - first_ticket_ > tail) {
            view_.header->tail.store(ticket - first_ticket_, std::memory_order_release);  // as above
        }
    }
}

void read_losses(const RingHeader& first, uint64_t uncounted_void, uint64_t (&losses)[kLossCounters]) {
    for (size_t i = 0; i < kLossCounters; ++i) losses[i] = first.losses[i].load(std::memory_order_relaxed);
    uint64_t& abandoned = losses[static_cast<size_t>(Loss::Abandoned)];
    abandoned += uncounted_void;
    const uint64_t rewritten = first.rewritten.load(std::memory_order_relaxed);
    abandoned = abandoned > rewritten ? abandoned - rewritten : 0;
}

size_t read_in_flight(const RingHeader& first, std::span<uint64_t> tickets) {
    size_t count = 0;
    for (const std::atomic<uint64_t>& place : first.in_flight) {
        // acquire, pairs with the release in the job's in_flight_enter: its event was committed before.
        const uint64_t ticket = place.load(std::memory_order_acquire);
        if (ticket != 0 && count < tickets.size()) tickets[count++] = ticket - 1;
    }
    return count;
}

}  // namespace vramtrace::trace
