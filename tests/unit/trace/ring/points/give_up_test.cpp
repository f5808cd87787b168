// SPDX-License-Identifier: Apache-2.0
// Living writers whose slots are given up at every point of their way: they write again, and nothing is torn.
#include <sched.h>

#include <memory>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/memory_segments.h"
#include "trace/ring/system_calls.h"
#include "trace/test_point.h"

using namespace vramtrace::trace;
using namespace vramtrace::test;

namespace {

thread_local uint32_t dice = 12345;

// Lets the collector run in the middle of a slot, so that it gives up what is not finished.
void sometimes_yield(const char*) {
    dice = dice * 1664525 + 1013904223;
    if (dice >> 26 == 0) sched_yield();
    if (dice >> 21 == 0) sys::sleep_nanoseconds(1000);
}

}  // namespace

TEST_CASE("writers of a slot that was given up write again: nothing is lost, nothing doubled, nothing torn") {
    // One segment of few slots: laps follow fast on each other, so that stalled writers meet later laps.
    constexpr uint32_t kSlots = 1024;
    constexpr uint32_t kWriters = 3;
    constexpr uint64_t kEach = 60'000;
    MemorySegments memory;
    auto chain = std::make_unique<SegmentChain>();
    std::memset(static_cast<void*>(chain.get()), 0, sizeof *chain);
    REQUIRE(chain->start(memory.maker(), kSlots * sizeof(Event), kSlots));
    test_point_reached = sometimes_yield;
    std::atomic<unsigned> running{kWriters};
    std::vector<std::thread> writers;
    for (uint32_t writer = 0; writer < kWriters; ++writer) {
        writers.emplace_back([&, writer] {
            dice = writer;
            for (uint64_t i = 0; i < kEach; ++i) {
                while (chain->write(numbered_event(writer, i, sys::monotonic_ns())) == SegmentChain::kNotWritten) {
                }
            }
            --running;
        });
    }
    RingReader reader(memory, ReaderRole::Collector);
    REQUIRE(reader.open());
    std::vector<Event> batch(1000);
    uint64_t next[kWriters] = {};
    uint64_t torn = 0, disorder = 0, total = 0;
    for (bool over = false; !over;) {
        const bool last_round = running == 0;
        reader.writable_header()->heartbeat = sys::monotonic_ns();
        const auto result = reader.next_batch(batch, 1, true);  // "dead": what is not committed is given up at once
        for (size_t i = 0; i < result.events; ++i) {
            torn += !is_whole(batch[i]);
            disorder += batch[i].address != next[batch[i].thread % kWriters]++;
            ++total;
        }
        REQUIRE(result.end != BatchEnd::Damaged);
        reader.advance_tail(reader.position());
        over = last_round && result.events == 0;
    }
    for (auto& writer : writers) writer.join();
    test_point_reached = nullptr;
    CHECK(torn == 0);
    CHECK(disorder == 0);
    CHECK(total == kWriters * kEach);
    CHECK(reader.void_tickets() > 100);
    uint64_t losses[kLossCounters];
    read_losses(*chain->first(), 0, losses);
    CHECK(losses[static_cast<size_t>(Loss::Abandoned)] == 0);
    CHECK(chain->first()->rewritten == reader.void_tickets());
}
