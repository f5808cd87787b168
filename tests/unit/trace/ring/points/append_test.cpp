// SPDX-License-Identifier: Apache-2.0
// Several writers find a segment full at once: one appends the next, the others wait for it, and nobody loses an event.
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

// Stretches the moments around a publishing, in which a waiter may look at the old state and the new one.
void stretch(const char* name) {
    if (std::strncmp(name, "segment.", 8) != 0) return;
    dice = dice * 1664525 + 1013904223;
    if (dice >> 30 != 0) sched_yield();
}

}  // namespace

TEST_CASE("no event is lost while another segment can be had, however many writers wait for it") {
    constexpr uint32_t kWriters = 4, kSlotsEach = 1024, kSegments = 200;
    constexpr uint64_t kEach = uint64_t{kSegments - 2} * (kSlotsEach / 2) / kWriters;
    for (int round = 0; round < 5; ++round) {
        MemorySegments memory;
        auto chain = std::make_unique<SegmentChain>();
        std::memset(static_cast<void*>(chain.get()), 0, sizeof *chain);
        REQUIRE(chain->start(memory.maker(), kSegments * kSlotsEach * sizeof(Event), kSlotsEach));
        test_point_reached = stretch;
        std::atomic<uint64_t> lost_early{0}, lost_late{0};
        std::vector<std::thread> writers;
        for (uint32_t writer = 0; writer < kWriters; ++writer) {
            writers.emplace_back([&, writer] {
                dice = writer + 1;
                for (uint64_t i = 0; i < kEach; ++i) {
                    const uint64_t begin = sys::monotonic_ns();
                    if (chain->write(numbered_event(writer, i)) != SegmentChain::kNotWritten) continue;
                    // A machine that does not run the appender for that long is none of the writer's doing.
                    (sys::monotonic_ns() - begin < SegmentChain::kLongestWait ? lost_early : lost_late) += 1;
                }
            });
        }
        for (std::thread& thread : writers) thread.join();
        test_point_reached = nullptr;
        REQUIRE(lost_early == 0);
        REQUIRE(lost(*chain->first(), Loss::RingFull) == lost_late);
    }
}
