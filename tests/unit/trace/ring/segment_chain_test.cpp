// SPDX-License-Identifier: Apache-2.0
#include "trace/ring/segment_chain.h"

#include "tests/support/catch.h"
#include "tests/support/memory_segments.h"
#include "trace/ring/system_calls.h"

using namespace vramtrace::trace;
using namespace vramtrace::test;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

}  // namespace

TEST_CASE("segments: closed when full, read in order, given back when drained") {
    Chain chain(4);
    uint64_t number = 0;
    while (chain.chain->write(numbered_event(1, number)) != SegmentChain::kNotWritten) ++number;
    REQUIRE(chain.memory.count() == 4);
    REQUIRE(number == 4 * (kSlots - writer_slack(kSlots)));
    REQUIRE(lost(chain.first(), Loss::RingFull) == 1);
    REQUIRE(chain.first().first_loss_time != 0);

    RingReader reader(chain.memory, ReaderRole::Collector);
    REQUIRE(reader.open());
    std::vector<Event> batch(100'000);
    const auto result = reader.next_batch(batch, 1, false);
    REQUIRE(result.events == number);
    for (uint64_t i = 0; i < number; ++i) {
        REQUIRE(batch[i].sequence == i);
        REQUIRE(batch[i].address == i);
    }
    REQUIRE(reader.missing_tickets() == 0);
    REQUIRE(chain.memory.finished_count() == 0);  // nothing is durable yet

    SECTION("a tail in the middle of an earlier segment frees only what lies before it") {
        reader.advance_tail(number / 2 + 5);
        REQUIRE(chain.memory.finished_count() == 2);
        RingReader again(chain.memory, ReaderRole::Collector);
        REQUIRE(again.open());
        again.seek(number / 2 + 5);
        const auto rest = again.next_batch(batch, 1, false);
        REQUIRE(rest.events == number - (number / 2 + 5));
        REQUIRE(batch[0].sequence == number / 2 + 5);
        REQUIRE(again.missing_tickets() == 0);
    }
    SECTION("drained segments make room for new ones") {
        reader.advance_tail(reader.position());
        REQUIRE(chain.memory.finished_count() == 3);
        REQUIRE(chain.chain->write(numbered_event(1, number, kSecond)) == number);  // the last one is a ring again
        for (uint64_t i = 1; i < 3 * kSlots; ++i) {
            REQUIRE(chain.chain->write(numbered_event(1, number + i, 3 * kSecond)) == number + i);
        }
        REQUIRE(chain.memory.released_count() >= 3);
        REQUIRE(reader.next_batch(batch, 1, false).events == 3 * kSlots);
    }
    SECTION("segments that an earlier collector removed are no gap for who knows the container") {
        reader.advance_tail(reader.position());
        const uint64_t durable = reader.position();
        for (uint64_t i = 0; i < 2 * kSlots; ++i) chain.chain->write(numbered_event(1, number + i, 3 * kSecond));
        for (uint32_t i = 1; i < 4; ++i) chain.memory.forget(i);
        RingReader again(chain.memory, ReaderRole::PostMortem);
        REQUIRE(again.open());
        again.seek(durable);
        // Segment 3 was drained up to `durable` and went on as a ring: it was removed here with what it held.
        const auto rest = again.next_batch(batch, 1, false);
        REQUIRE(rest.events + again.missing_tickets() == 2 * kSlots);
        REQUIRE(again.missing_tickets() > 0);
    }
}

TEST_CASE("without a collector nobody waits; with one the wait is bounded and not repeated") {
    Chain chain(1);
    uint64_t number = 0;
    const auto fill = [&] {
        while (chain.chain->write(numbered_event(1, number, sys::monotonic_ns())) != SegmentChain::kNotWritten)
            ++number;
    };
    const auto time_of_write = [&] {
        const uint64_t begin = sys::monotonic_ns();
        const bool written = chain.chain->write(numbered_event(1, number, begin)) != SegmentChain::kNotWritten;
        REQUIRE_FALSE(written);
        return sys::monotonic_ns() - begin;
    };
    fill();
    REQUIRE(time_of_write() < 50'000'000);

    chain.first().heartbeat = sys::monotonic_ns();  // a collector lives, and is slow
    uint64_t waited = time_of_write();
    REQUIRE(waited > 90'000'000);
    REQUIRE(waited < 1'000'000'000);
    REQUIRE(time_of_write() < 50'000'000);  // not again
    REQUIRE(time_of_write() < 50'000'000);

    RingReader reader(chain.memory, ReaderRole::Collector);
    REQUIRE(reader.open());
    std::vector<Event> batch(kSlots);
    const auto result = reader.next_batch(batch, 1, false);
    REQUIRE(result.events == number);
    reader.advance_tail(reader.position());
    REQUIRE(chain.chain->write(numbered_event(1, number, sys::monotonic_ns())) == number);
    REQUIRE(lost(chain.first(), Loss::RingFull) == 5);
}
