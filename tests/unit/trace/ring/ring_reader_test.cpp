// SPDX-License-Identifier: Apache-2.0
#include "trace/ring/ring_reader.h"

#include <array>
#include <memory>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/memory_segments.h"
#include "trace/ring/system_calls.h"

using namespace vramtrace::trace;
using namespace vramtrace::test;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Takes a ticket as a writer does and stops there (or after its claim), like one that is never scheduled again.
uint64_t stall(Chain& chain, bool claimed) {
    const uint64_t ticket = chain.first().head.fetch_add(1);
    if (claimed) {
        uint64_t free = 2 * (ticket / kSlots);
        REQUIRE(chain.slot(ticket).word[0].compare_exchange_strong(free, free + 1));
    }
    return ticket;
}

}  // namespace

TEST_CASE("events come back in ticket order, whole") {
    Chain chain(1);
    for (uint64_t i = 0; i < 1000; ++i) REQUIRE(chain.chain->write(numbered_event(7, i)) == i);
    RingReader reader(chain.memory, ReaderRole::Collector);
    REQUIRE(reader.open());
    std::array<Event, 300> batch;
    uint64_t next = 0;
    for (;;) {
        const auto result = reader.next_batch(batch, 1, false);
        for (size_t i = 0; i < result.events; ++i, ++next) {
            REQUIRE(batch[i].sequence == next);
            REQUIRE(batch[i].address == next);
            REQUIRE(is_whole(batch[i]));
        }
        if (result.end == BatchEnd::Idle) break;
        REQUIRE(result.end == BatchEnd::Full);
    }
    REQUIRE(next == 1000);
    REQUIRE(reader.next_batch(batch, 1, true).end == BatchEnd::Finished);
}

TEST_CASE("four writers and a draining reader: nothing torn, nothing lost, each writer's order kept") {
    // One segment: slots are reused all the time. Eight: segments are closed, appended and given back.
    const uint64_t segments = GENERATE(1, 8);
    constexpr uint32_t kWriters = 4;
#ifdef __SANITIZE_THREAD__
    constexpr uint64_t kEach = 60'000;
#else
    constexpr uint64_t kEach = 400'000;
#endif
    Chain chain(segments);
    std::atomic<unsigned> running{kWriters};
    std::vector<std::thread> writers;
    for (uint32_t writer = 0; writer < kWriters; ++writer) {
        writers.emplace_back([&, writer] {
            uint64_t last = 0;
            for (uint64_t i = 0; i < kEach; ++i) {
                uint64_t ticket;
                while ((ticket = chain.chain->write(numbered_event(writer, i, sys::monotonic_ns()))) ==
                       SegmentChain::kNotWritten) {
                    std::this_thread::yield();  // counted as RingFull; here nothing may be missing, so once more
                }
                if (i > 0 && ticket <= last) std::abort();
                last = ticket;
            }
            --running;
        });
    }
    RingReader reader(chain.memory, ReaderRole::Collector);
    REQUIRE(reader.open());
    std::vector<Event> batch(1000);
    std::array<uint64_t, kWriters> next{};
    uint64_t total = 0, torn = 0, disorder = 0, last = 0;
    for (bool over = false; !over;) {
        const bool last_round = running == 0;
        reader.writable_header()->heartbeat = sys::monotonic_ns();
        const auto result = reader.next_batch(batch, sys::monotonic_ns(), false);
        for (size_t i = 0; i < result.events; ++i) {
            const Event& event = batch[i];
            torn += !is_whole(event);
            disorder += event.thread >= kWriters || event.address != next[event.thread % kWriters]++;
            disorder += total > 0 && event.sequence <= last;
            last = event.sequence;
            ++total;
        }
        REQUIRE(result.end != BatchEnd::Damaged);
        reader.advance_tail(reader.position());
        over = last_round && result.events == 0;
    }
    for (auto& writer : writers) writer.join();
    CHECK(torn == 0);
    CHECK(disorder == 0);
    CHECK(total == kWriters * kEach);
    CHECK(reader.missing_tickets() == 0);
    CHECK(lost(chain.first(), Loss::Abandoned) == 0);
    CHECK(last + 1 == total + reader.void_tickets());
    if (segments > 1 && chain.memory.count() > 1) CHECK(chain.memory.finished_count() == chain.memory.count() - 1);
}

TEST_CASE("a writer that dies after its ticket, or in its slot, costs its own event and no other") {
    const bool claimed = GENERATE(false, true);
    Chain chain(1);
    chain.chain->write(numbered_event(1, 0));
    stall(chain, claimed);
    chain.chain->write(numbered_event(1, 1));
    std::array<Event, 16> batch;

    SECTION("the collector waits a second, then gives the slot up") {
        RingReader reader(chain.memory, ReaderRole::Collector);
        REQUIRE(reader.open());
        REQUIRE(reader.next_batch(batch, 10 * kSecond, false).events == 1);
        REQUIRE(reader.next_batch(batch, 10 * kSecond + kSecond / 2, false).events == 0);
        REQUIRE(lost(chain.first(), Loss::Abandoned) == 0);
        REQUIRE(reader.next_batch(batch, 0, false).events == 0);  // the job is stopped: no time passes
        REQUIRE(reader.next_batch(batch, 20 * kSecond, false).events == 0);
        REQUIRE(reader.next_batch(batch, 21 * kSecond, false).events == 1);
        REQUIRE(batch[0].address == 1);
        REQUIRE(batch[0].sequence == 2);
        REQUIRE(reader.void_tickets() == 1);
        REQUIRE(lost(chain.first(), Loss::Abandoned) == 1);
        REQUIRE(chain.first().abandoned == 1);
    }
    SECTION("a collector that knows the process is dead gives it up at once") {
        RingReader reader(chain.memory, ReaderRole::Collector);
        REQUIRE(reader.open());
        const auto result = reader.next_batch(batch, 1, true);
        REQUIRE(result.events == 2);
        REQUIRE(result.end == BatchEnd::Finished);
        REQUIRE(lost(chain.first(), Loss::Abandoned) == 1);
    }
    SECTION("a reader of the dead changes nothing and counts it") {
        const uint64_t before = chain.slot(1).word[0];
        RingReader reader(chain.memory, ReaderRole::PostMortem);
        REQUIRE(reader.open());
        const auto result = reader.next_batch(batch, 1, false);
        REQUIRE(result.events == 2);
        REQUIRE(result.end == BatchEnd::Finished);
        REQUIRE(reader.void_tickets() == 1);
        REQUIRE(chain.slot(1).word[0] == before);
        REQUIRE(lost(chain.first(), Loss::Abandoned) == 0);
        uint64_t losses[kLossCounters];
        read_losses(chain.first(), reader.void_tickets(), losses);
        REQUIRE(losses[static_cast<size_t>(Loss::Abandoned)] == 1);
    }
    SECTION("a live reader waits, however long") {
        RingReader reader(chain.memory, ReaderRole::Live);
        REQUIRE(reader.open());
        REQUIRE(reader.next_batch(batch, kSecond, false).events == 1);
        REQUIRE(reader.next_batch(batch, 100 * kSecond, false).end == BatchEnd::Idle);
    }
}

TEST_CASE("a retired slot is passed over by later laps until its writer comes back") {
    Chain chain(1);
    const uint64_t stalled = stall(chain, true);
    RingReader reader(chain.memory, ReaderRole::Collector);
    REQUIRE(reader.open());
    std::vector<Event> batch(kSlots);
    REQUIRE(reader.next_batch(batch, kSecond, false).events == 0);
    REQUIRE(reader.next_batch(batch, 3 * kSecond, false).end == BatchEnd::Idle);
    REQUIRE(reader.position() == 1);
    reader.advance_tail(reader.position());

    // Fill until the ring comes round to the slot: its ticket must be passed over, its event written under the next one.
    uint64_t number = 0;
    uint64_t seen = 0;
    for (uint64_t ticket = 1; ticket <= kSlots + 10;) {
        ticket = chain.chain->write(numbered_event(2, number++)) + 1;
        const auto result = reader.next_batch(batch, kSecond, false);
        for (size_t i = 0; i < result.events; ++i) REQUIRE(batch[i].address == seen++);
        reader.advance_tail(reader.position());
    }
    REQUIRE(seen == number);
    REQUIRE(reader.void_tickets() == 2);
    REQUIRE(chain.first().rewritten == 1);
    REQUIRE(lost(chain.first(), Loss::Abandoned) == 1);  // the stalled writer's own event

    // The stalled writer wakes up, finds its commit refused and frees the slot: what RingWriter::fill does.
    uint64_t claimed = 1;
    REQUIRE_FALSE(chain.slot(stalled).word[0].compare_exchange_strong(claimed, 2));
    // The slot says which lap was passed over, so that the writer of that lap's ticket, coming late, does not claim it.
    REQUIRE(claimed == (kSlotAbandoned | 3));
    chain.slot(stalled).word[0] = kSlotAbandoned | 2;
    for (uint64_t ticket = 0; ticket <= 2 * kSlots + 10;) {
        ticket = chain.chain->write(numbered_event(2, number++)) + 1;
        const auto result = reader.next_batch(batch, kSecond, false);
        for (size_t i = 0; i < result.events; ++i) REQUIRE(batch[i].address == seen++);
        reader.advance_tail(reader.position());
    }
    REQUIRE(seen == number);
    REQUIRE(reader.void_tickets() == 2);
}

TEST_CASE("a live reader notices that slots were reused under it") {
    Chain chain(1);
    RingReader collector(chain.memory, ReaderRole::Collector);
    RingReader live(chain.memory, ReaderRole::Live);
    REQUIRE(collector.open());
    REQUIRE(live.open());
    std::vector<Event> batch(kSlots);
    for (uint64_t i = 0; i < 100; ++i) chain.chain->write(numbered_event(1, i));
    REQUIRE(live.next_batch(std::span(batch).first(10), 1, false).events == 10);
    for (uint64_t i = 100; i < 3 * kSlots; ++i) {
        chain.chain->write(numbered_event(1, i));
        if (i % 1000 == 0) {
            collector.next_batch(batch, 1, false);
            collector.advance_tail(collector.position());
        }
    }
    const auto result = live.next_batch(batch, 1, false);
    REQUIRE(result.end == BatchEnd::Recycled);
    REQUIRE(result.events == 0);
    REQUIRE(live.position() == 10);
    live.seek(collector.position());  // what the container has
    const auto rest = live.next_batch(batch, 1, false);
    REQUIRE(rest.events > 0);
    REQUIRE(batch[0].sequence == collector.position());
    REQUIRE(batch[rest.events - 1].address == 3 * kSlots - 1);
}

TEST_CASE("live readers beside the collector never get a torn event") {
    Chain chain(1);
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (uint64_t i = 0; !stop; ++i) chain.chain->write(numbered_event(1, i, sys::monotonic_ns()));
    });
    std::thread drain([&] {
        RingReader reader(chain.memory, ReaderRole::Collector);
        reader.open();
        std::vector<Event> batch(500);
        while (!stop) {
            reader.writable_header()->heartbeat = sys::monotonic_ns();
            reader.next_batch(batch, 1, false);
            reader.advance_tail(reader.position());
        }
    });
    RingReader live(chain.memory, ReaderRole::Live);
    REQUIRE(live.open());
    std::vector<Event> batch(200);
    uint64_t seen = 0, torn = 0, recycled = 0;
    const uint64_t begin = sys::monotonic_ns();
    for (unsigned round = 0;; ++round) {
        const uint64_t passed = sys::monotonic_ns() - begin;
        if ((passed > kSecond && recycled > 0) || passed > 30 * kSecond) break;
        if (round % 64 == 0) sys::sleep_nanoseconds(3'000'000);  // let them lap us
        const auto result = live.next_batch(batch, 1, false);
        for (size_t i = 0; i < result.events; ++i) torn += !is_whole(batch[i]);
        seen += result.events;
        if (result.end == BatchEnd::Recycled) {
            ++recycled;
            live.seek(chain.first().tail.load(std::memory_order_acquire));
        }
    }
    stop = true;
    writer.join();
    drain.join();
    CHECK(torn == 0);
    CHECK(seen > 0);
    CHECK(recycled > 0);
}

TEST_CASE("numbers that cannot be are damage, not an endless read") {
    Chain chain(1);
    for (uint64_t i = 0; i < 10; ++i) chain.chain->write(numbered_event(1, i));
    std::vector<Event> batch(100);
    SECTION("head far away") {
        chain.first().head = 1ULL << 40;
    }
    SECTION("tail behind the head") {
        chain.first().tail = 1ULL << 40;
    }
    SECTION("a slot of another lap") {
        chain.slot(3).word[0] = 77;
    }
    RingReader reader(chain.memory, ReaderRole::PostMortem);
    REQUIRE(reader.open());
    REQUIRE(reader.next_batch(batch, 1, false).end == BatchEnd::Damaged);
}

TEST_CASE("closed, and the closer died before it said where") {
    Chain chain(4);
    for (uint64_t i = 0; i < 10; ++i) chain.chain->write(numbered_event(1, i));
    chain.first().head.fetch_or(kHeadClosed);
    chain.first().head.fetch_add(2);  // two writers that came too late
    std::vector<Event> batch(100);
    const bool collector = GENERATE(false, true);
    RingReader reader(chain.memory, collector ? ReaderRole::Collector : ReaderRole::PostMortem);
    REQUIRE(reader.open());
    const auto result = reader.next_batch(batch, 1, true);
    REQUIRE(result.events == 10);
    REQUIRE(result.end == BatchEnd::Finished);
}

TEST_CASE("in-flight releases are read as tickets") {
    Chain chain(1);
    chain.first().in_flight[3] = 41;
    chain.first().in_flight[200] = 1;
    std::array<uint64_t, 8> tickets{};
    REQUIRE(read_in_flight(chain.first(), tickets) == 2);
    REQUIRE(tickets[0] == 40);
    REQUIRE(tickets[1] == 0);
}
