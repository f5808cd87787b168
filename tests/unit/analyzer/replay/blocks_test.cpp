// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/blocks.h"

#include "tests/support/catch.h"
#include "tests/unit/analyzer/replay/live.h"

using namespace vramtrace;
using replay::Ending;
using replay::Kind;
using replay::Quantity;
using test::EventBuilder;
using test::Played;
using E = EventBuilder::Kind;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kSegment = 0x7f0000000000;
constexpr uint64_t kRange = 0x7e0000000000;

const replay::BlockState& state(const Played& played, uint8_t device = 0) {
    return played.replay.blocks().states().at(device);
}

// A reservation with `pieces` handles of 20 MiB mapped one after the other.
void expandable(EventBuilder& job, uint64_t pieces) {
    job.address(E::AddressReserve, kRange, 1024 * kMiB);
    for (uint64_t i = 0; i < pieces; ++i) {
        job.physical_create(0x100 + i, 20 * kMiB);
        job.map(kRange + i * 20 * kMiB, 20 * kMiB, 0x100 + i);
    }
}

}  // namespace

TEST_CASE("a block is a layer of its own in its segment", "[replay][blocks]") {
    EventBuilder job;
    job.device(1).device_alloc(kSegment, 20 * kMiB);
    job.block_alloc(kSegment, 3 * kMiB);
    job.block_alloc(kSegment + 3 * kMiB, 4 * kMiB);
    job.block_free(kSegment);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 20 * kMiB);
    CHECK(played.bytes(Quantity::Block) == 4 * kMiB);
    const replay::Allocation* block = played.only(Kind::Block);
    const replay::Allocation* segment = played.only(Kind::DeviceMemory);
    REQUIRE(block != nullptr);
    REQUIRE(segment != nullptr);
    CHECK(block->object == segment->id);
    CHECK(block->device == 1);
    CHECK((block->flags & replay::kSmallPool) == 0);
    CHECK((segment->flags & replay::kSegment) != 0);
    CHECK(played.ended(Ending::Freed) == 1);
    CHECK(played.replay.oddities().unmatched_releases == 0);
}

TEST_CASE("memory without blocks is no segment", "[replay][blocks]") {
    EventBuilder job;
    job.device_alloc(kSegment, 2 * kMiB);
    job.device_alloc(kSegment + 4 * kMiB, 2 * kMiB);
    job.block_alloc(kSegment + 512, 512);
    job.device_alloc(kSegment + 8 * kMiB, 2 * kMiB);
    const Played played(job);
    size_t segments = 0;
    played.replay.live().for_each([&](const replay::Allocation& a) {
        if ((a.flags & replay::kSegment) != 0) {
            ++segments;
            CHECK(a.address == kSegment);
            CHECK((a.flags & replay::kSmallPool) != 0);
        }
    });
    CHECK(segments == 1);
}

TEST_CASE("who does not name the device is placed by the memory it lies in", "[replay][blocks]") {
    EventBuilder job;
    job.device(2).device_alloc(kSegment, 64 * kMiB);
    job.device(0).host_alloc(0x1000000, kMiB);
    job.pool_alloc(0x7d0000000000, kMiB);
    job.device(3).managed_alloc(0x7c0000000000, kMiB);
    job.device(trace::kNoDevice);
    job.block_alloc(kSegment + 256, 256);   // device 2
    job.block_alloc(0x1000100, 256);        // pinned host
    job.block_alloc(0x7d0000000000, 512);   // device 0: pool memory
    job.block_alloc(0x7c0000000000, 1024);  // device 3: managed
    job.block_alloc(0x5000, 4096);          // ordinary host memory
    job.block_alloc(0x9000, 64);            // …
    job.block_free(0x5000);
    const Played played(job);
    CHECK(played.bytes(Quantity::Block) == 256 + 512 + 1024);
    CHECK(played.bytes(Quantity::HostBlock) == 256);
    CHECK(played.replay.blocks().outside().allocated_count == 2);
    CHECK(played.replay.blocks().outside().live_bytes == 64);
    CHECK(played.replay.blocks().outside().peak_bytes == 4096 + 64);
    CHECK(played.replay.oddities().unmatched_releases == 0);
    uint8_t seen = 0;
    played.replay.live().for_each([&](const replay::Allocation& a) {
        if (a.kind == Kind::Block && a.bytes == 256) seen = a.device;
    });
    CHECK(seen == 2);
}

TEST_CASE("blocks of a reservation may span its mappings", "[replay][blocks]") {
    EventBuilder job;
    expandable(job, 3);
    job.block_alloc(kRange + 10 * kMiB, 40 * kMiB);
    const Played played(job);
    const replay::Allocation* range = played.only(Kind::AddressRange);
    REQUIRE(range != nullptr);
    REQUIRE(played.only(Kind::Block) != nullptr);
    CHECK(played.only(Kind::Block)->object == range->id);
    CHECK(played.replay.blocks().segments().reservations().at(kRange).mapped == 60 * kMiB);
    CHECK(played.bytes(Quantity::Device) == 60 * kMiB);
    CHECK(played.bytes(Quantity::Block) == 40 * kMiB);
}

TEST_CASE("unmapped under live blocks is offloaded, mapped again it is back", "[replay][blocks]") {
    EventBuilder job;
    expandable(job, 2);
    job.block_alloc(kRange, 30 * kMiB);
    job.block_alloc(kRange + 30 * kMiB, 10 * kMiB);
    job.unmap(kRange + 20 * kMiB, 20 * kMiB);
    job.physical_release(0x101);
    {
        const Played asleep(job);
        CHECK(state(asleep).offloaded_count == 2);
        CHECK(state(asleep).offloaded_bytes == 40 * kMiB);
        CHECK(asleep.bytes(Quantity::Block) == 40 * kMiB);
        CHECK(asleep.bytes(Quantity::Device) == 20 * kMiB);
        CHECK(asleep.replay.blocks().segments().offloaded(0) == 20 * kMiB);
        CHECK(asleep.replay.oddities().unmatched_releases == 0);
    }
    job.physical_create(0x201, 20 * kMiB);
    job.map(kRange + 20 * kMiB, 20 * kMiB, 0x201);
    const Played awake(job);
    CHECK(state(awake).offloaded_count == 0);
    CHECK(state(awake).orphaned_count == 0);
    CHECK(awake.replay.blocks().segments().offloaded(0) == 0);
    CHECK(awake.bytes(Quantity::Block) == 40 * kMiB);
}

TEST_CASE("a refused unmap offloads nothing", "[replay][blocks]") {
    EventBuilder job;
    expandable(job, 2);
    job.block_alloc(kRange, 30 * kMiB);
    const uint64_t ticket = job.unmap(kRange, 20 * kMiB);
    job.free_failed(ticket, 1);
    const Played played(job);
    CHECK(state(played).offloaded_count == 0);
    CHECK(played.replay.blocks().segments().offloaded(0) == 0);
    CHECK(played.replay.blocks().segments().reservations().at(kRange).mapped == 40 * kMiB);
}

TEST_CASE("unmapping what holds no block only shrinks the segment", "[replay][blocks]") {
    EventBuilder job;
    expandable(job, 2);
    job.block_alloc(kRange, 10 * kMiB);
    job.unmap(kRange + 20 * kMiB, 20 * kMiB);
    const Played played(job);
    CHECK(state(played).offloaded_count == 0);
    CHECK(played.replay.blocks().segments().reservations().at(kRange).mapped == 20 * kMiB);
    CHECK(played.replay.blocks().segments().offloaded(0) == 0);
}

TEST_CASE("a segment freed under live blocks orphans them", "[replay][blocks]") {
    EventBuilder job;
    job.device_alloc(kSegment, 20 * kMiB);
    job.block_alloc(kSegment, kMiB);
    job.block_alloc(kSegment + kMiB, kMiB);
    job.block_free(kSegment);
    const uint64_t ticket = job.device_free(kSegment);
    SECTION("and their own frees say nothing new") {
        job.block_free(kSegment + kMiB);
        const Played played(job);
        CHECK(played.count(Kind::Block) == 0);
        CHECK(played.ended(Ending::SegmentEnded) == 1);
        CHECK(state(played).orphaned_count == 1);
        CHECK(state(played).orphaned_bytes == kMiB);
        CHECK(played.replay.oddities().unmatched_releases == 0);
    }
    SECTION("unless the free was refused") {
        job.free_failed(ticket, 1);
        job.block_free(kSegment + kMiB);
        const Played played(job);
        CHECK(played.restored == 2);
        CHECK(state(played).orphaned_count == 0);
        CHECK(played.count(Kind::DeviceMemory) == 1);
        CHECK(played.count(Kind::Block) == 0);
        CHECK(played.replay.oddities().unmatched_releases == 0);
    }
    SECTION("and new memory there has its own") {
        job.device_alloc(kSegment, 20 * kMiB);
        job.block_alloc(kSegment + kMiB, 2 * kMiB);
        const Played played(job);
        CHECK(played.bytes(Quantity::Block) == 2 * kMiB);
        CHECK(played.replay.oddities().lost_frees == 0);
    }
}

TEST_CASE("a context's end takes the blocks of its segments along", "[replay][blocks]") {
    EventBuilder job;
    job.object(E::PrimaryRetain, 0xc);
    job.device_alloc(kSegment, 20 * kMiB);
    for (uint64_t i = 0; i < 8; ++i) job.block_alloc(kSegment + i * kMiB, kMiB);
    job.device_alloc(kSegment + 64 * kMiB, 20 * kMiB);
    job.object(E::PrimaryReset, 0xc);
    const Played played(job);
    CHECK(played.count(Kind::Block) == 0);
    CHECK(played.ended(Ending::ContextEnded) == 10);
    CHECK(state(played).orphaned_count == 8);
}

TEST_CASE("a free of an unknown block was made before recording", "[replay][blocks]") {
    EventBuilder job;
    job.block_free(0x1234);
    const Played played(job);
    CHECK(played.replay.oddities().unmatched_by_kind.at(E::BlockFree) == 1);
}

TEST_CASE("of blocks that overlap the older one's end was lost", "[replay][blocks]") {
    EventBuilder job;
    job.device_alloc(kSegment, 20 * kMiB);
    job.block_alloc(kSegment, 4 * kMiB);
    job.block_alloc(kSegment + kMiB, kMiB);
    job.block_alloc(kSegment + kMiB, 2 * kMiB);  // the same address
    const Played played(job);
    CHECK(played.bytes(Quantity::Block) == 2 * kMiB);
    CHECK(played.replay.oddities().lost_frees == 2);
}

TEST_CASE("the framework's own sums are compared with ours", "[replay][blocks]") {
    EventBuilder job;
    job.device_alloc(kSegment, 20 * kMiB);
    SECTION("all seen: nothing differs") {
        job.block_alloc(kSegment, 4 * kMiB, 4 * kMiB, 20 * kMiB);
        job.block_alloc(kSegment + 8 * kMiB, kMiB, 5 * kMiB, 20 * kMiB);
        job.block_free(kSegment, 4 * kMiB, kMiB, 20 * kMiB);
        const Played played(job);
        CHECK(state(played).allocated.compared == 3);
        CHECK(state(played).allocated.differing == 0);
        CHECK(state(played).reserved.differing == 0);
        CHECK(state(played).allocated.said_peak == 5 * kMiB);
        CHECK(state(played).reserved.said == 20 * kMiB);
    }
    SECTION("recording began late: the same difference from the first on") {
        job.block_alloc(kSegment, 4 * kMiB, 7 * kMiB, 60 * kMiB);
        job.block_free(kSegment, 4 * kMiB, 3 * kMiB, 60 * kMiB);
        const Played played(job);
        CHECK(state(played).allocated.differing == 2);
        CHECK(state(played).allocated.at_begin == static_cast<int64_t>(3 * kMiB));
        CHECK(state(played).allocated.changed == 0);
        CHECK(state(played).reserved.at_begin == static_cast<int64_t>(40 * kMiB));
    }
    SECTION("an event is missing: it differs from there on") {
        job.block_alloc(kSegment, 4 * kMiB, 4 * kMiB, 20 * kMiB);
        job.block_alloc(kSegment + 8 * kMiB, kMiB, 7 * kMiB, 20 * kMiB);
        const Played played(job);
        CHECK(state(played).allocated.at_begin == 0);
        CHECK(state(played).allocated.changed == 1);
        CHECK(state(played).allocated.last == static_cast<int64_t>(2 * kMiB));
    }
    SECTION("orphans count until the framework frees them") {
        job.block_alloc(kSegment, 4 * kMiB, 4 * kMiB, 20 * kMiB);
        job.device_free(kSegment);
        job.device_alloc(kSegment + 64 * kMiB, 20 * kMiB);
        job.block_alloc(kSegment + 64 * kMiB, kMiB, 5 * kMiB, 20 * kMiB);
        job.block_free(kSegment, 4 * kMiB, kMiB, 20 * kMiB);
        const Played played(job);
        CHECK(state(played).allocated.compared == 3);
        CHECK(state(played).allocated.differing == 0);
    }
}
