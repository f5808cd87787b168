// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/virtual_memory.h"

#include "tests/support/catch.h"
#include "tests/unit/analyzer/replay/live.h"

using namespace vramtrace;
using replay::Ending;
using replay::Kind;
using replay::Quantity;
using test::EventBuilder;
using test::Played;
using trace::EventKind;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kRange = 0x7f0000000000;

}  // namespace

TEST_CASE("bytes belong to the handle until released and unmapped", "[replay][vmm]") {
    EventBuilder job;
    job.physical_create(0xa, 4 * kMiB);
    REQUIRE(Played(job).bytes(Quantity::Device) == 4 * kMiB);  // mapped or not
    job.address(EventKind::AddressReserve, kRange, 64 * kMiB);
    job.map(kRange, 4 * kMiB, 0xa);
    SECTION("unmap first") {
        job.unmap(kRange, 4 * kMiB);
        REQUIRE(Played(job).bytes(Quantity::Device) == 4 * kMiB);
        job.physical_release(0xa);
    }
    SECTION("release first") {
        job.physical_release(0xa);
        REQUIRE(Played(job).bytes(Quantity::Device) == 4 * kMiB);
        job.unmap(kRange, 4 * kMiB);
    }
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 0);
    CHECK(played.bytes(Quantity::AddressSpace) == 64 * kMiB);
    CHECK(played.replay.virtual_memory().mappings().empty());
    job.address(EventKind::AddressFree, kRange, 64 * kMiB);
    CHECK(Played(job).replay.live().size() == 0);
}

TEST_CASE("a handle mapped several times lives until the last mapping goes", "[replay][vmm]") {
    EventBuilder job;
    job.physical_create(0xa, 2 * kMiB);
    job.map(kRange, 2 * kMiB, 0xa);
    job.map(kRange + 8 * kMiB, 2 * kMiB, 0xa);
    job.physical_release(0xa);
    job.unmap(kRange, 2 * kMiB);
    REQUIRE(Played(job).bytes(Quantity::Device) == 2 * kMiB);
    CHECK(Played(job).only(Kind::Physical)->mapped_bytes == 2 * kMiB);
    job.unmap(kRange + 8 * kMiB, 2 * kMiB);
    CHECK(Played(job).bytes(Quantity::Device) == 0);
}

TEST_CASE("one unmap may take several mappings, or part of one", "[replay][vmm]") {
    EventBuilder job;
    job.physical_create(0xa, 2 * kMiB);
    job.physical_create(0xb, 6 * kMiB);
    job.map(kRange, 2 * kMiB, 0xa);
    job.map(kRange + 2 * kMiB, 6 * kMiB, 0xb);
    job.physical_release(0xa);
    job.physical_release(0xb);
    SECTION("all at once") {
        job.unmap(kRange, 8 * kMiB);
        CHECK(Played(job).bytes(Quantity::Device) == 0);
    }
    SECTION("the middle") {
        job.unmap(kRange + 4 * kMiB, 2 * kMiB);
        const Played middle(job);
        REQUIRE(middle.bytes(Quantity::Device) == 8 * kMiB);
        const auto& mappings = middle.replay.virtual_memory().mappings();
        REQUIRE(mappings.size() == 3);
        CHECK(mappings.at(kRange + 6 * kMiB).bytes == 2 * kMiB);
        CHECK(mappings.at(kRange + 6 * kMiB).offset == 4 * kMiB);
        job.unmap(kRange, 4 * kMiB);
        const Played left(job);
        REQUIRE(left.bytes(Quantity::Device) == 6 * kMiB);
        CHECK(left.only(Kind::Physical)->mapped_bytes == 2 * kMiB);
        job.unmap(kRange + 6 * kMiB, 2 * kMiB);
        CHECK(Played(job).bytes(Quantity::Device) == 0);
    }
}

TEST_CASE("retaining adds a reference that wants its own release", "[replay][vmm]") {
    EventBuilder job;
    job.physical_create(0xa, 2 * kMiB);
    job.map(kRange, 2 * kMiB, 0xa);
    SECTION("the same name") {
        job.add(EventKind::PhysicalRetain, {kRange, 0, 0xa, 0, 0});
        job.physical_release(0xa);
        job.unmap(kRange, 2 * kMiB);
        REQUIRE(Played(job).bytes(Quantity::Device) == 2 * kMiB);
        job.physical_release(0xa);
    }
    SECTION("after the first release") {
        job.physical_release(0xa);
        job.add(EventKind::PhysicalRetain, {kRange + kMiB, 0, 0xa, 0, 0});
        job.unmap(kRange, 2 * kMiB);
        REQUIRE(Played(job).bytes(Quantity::Device) == 2 * kMiB);
        job.physical_release(0xa);
    }
    SECTION("another name") {
        job.add(EventKind::PhysicalRetain, {kRange, 0, 0xaa, 0, 0});
        job.physical_release(0xa);
        job.unmap(kRange, 2 * kMiB);
        REQUIRE(Played(job).bytes(Quantity::Device) == 2 * kMiB);
        job.physical_release(0xaa);
    }
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 0);
    CHECK(played.replay.oddities().unmatched_releases == 0);
    CHECK(played.replay.oddities().unmatched_uses == 0);
}

TEST_CASE("an imported handle is another's memory: 0 bytes, but open", "[replay][vmm]") {
    EventBuilder job;
    job.object(EventKind::PhysicalImport, 0xa, 8 * kMiB);
    job.map(kRange, 8 * kMiB, 0xa);
    const Played open(job);
    CHECK(open.bytes(Quantity::Device) == 0);
    CHECK(open.count(Kind::ImportedPhysical) == 1);
    job.physical_release(0xa);
    REQUIRE(Played(job).count(Kind::ImportedPhysical) == 1);
    job.unmap(kRange, 8 * kMiB);
    CHECK(Played(job).replay.live().size() == 0);
}

TEST_CASE("importing one's own handle is one more reference", "[replay][vmm]") {
    EventBuilder job;
    job.physical_create(0xa, 2 * kMiB);
    job.object(EventKind::PhysicalImport, 0xa);
    job.physical_release(0xa);
    CHECK(Played(job).bytes(Quantity::Device) == 2 * kMiB);
    job.physical_release(0xa);
    CHECK(Played(job).bytes(Quantity::Device) == 0);
}

TEST_CASE("a multicast object has no memory and is released like a handle", "[replay][vmm]") {
    EventBuilder job;
    job.physical_create(0xa, 2 * kMiB);
    job.object(EventKind::MulticastCreate, 0xc, 64 * kMiB);
    job.object(EventKind::MulticastBind, 0xc, 2 * kMiB, 0xa);
    job.map(kRange, 64 * kMiB, 0xc);
    const Played open(job);
    CHECK(open.bytes(Quantity::Device) == 2 * kMiB);
    CHECK(open.count(Kind::Multicast) == 1);
    job.unmap(kRange, 64 * kMiB);
    job.object(EventKind::MulticastUnbind, 0xc, 2 * kMiB);
    job.physical_release(0xc);
    CHECK(Played(job).count(Kind::Multicast) == 0);
    CHECK(Played(job).replay.oddities().unmatched_uses == 0);
}

TEST_CASE("memory made on the host counts as pinned host memory, on another device there", "[replay][vmm]") {
    EventBuilder job;
    job.object(EventKind::PhysicalCreate, 0xa, kMiB, uint64_t{2} << 32);
    job.object(EventKind::PhysicalCreate, 0xb, kMiB, uint64_t{1} << 32 | 3);
    const Played played(job);
    CHECK(played.bytes(Quantity::HostPinned) == kMiB);
    CHECK(played.only(Kind::Physical)->device == 3);
    CHECK(played.only(Kind::PhysicalHost)->counted_device() == trace::kNoDevice);
}

TEST_CASE("a handle's number given out again while the old memory is mapped", "[replay][vmm]") {
    EventBuilder job;
    job.physical_create(0xa, 2 * kMiB);
    job.map(kRange, 2 * kMiB, 0xa);
    job.physical_release(0xa);
    job.physical_create(0xa, 4 * kMiB);
    REQUIRE(Played(job).bytes(Quantity::Device) == 6 * kMiB);
    CHECK(Played(job).replay.oddities().lost_frees == 0);
    job.physical_release(0xa);
    REQUIRE(Played(job).bytes(Quantity::Device) == 2 * kMiB);
    job.unmap(kRange, 2 * kMiB);
    CHECK(Played(job).bytes(Quantity::Device) == 0);
}

TEST_CASE("refused VMM releases are taken back whole", "[replay][vmm]") {
    EventBuilder job;
    job.physical_create(0xa, 2 * kMiB);
    job.map(kRange, 2 * kMiB, 0xa);
    SECTION("an unmap that would have ended it") {
        job.physical_release(0xa);
        job.free_failed(job.unmap(kRange, 2 * kMiB), 1);
        REQUIRE(Played(job).bytes(Quantity::Device) == 2 * kMiB);
        CHECK(Played(job).only(Kind::Physical)->mapped_bytes == 2 * kMiB);
        job.unmap(kRange, 2 * kMiB);
    }
    SECTION("a release that would have ended it") {
        job.unmap(kRange, 2 * kMiB);
        job.free_failed(job.physical_release(0xa), 1);
        REQUIRE(Played(job).bytes(Quantity::Device) == 2 * kMiB);
        CHECK(Played(job).only(Kind::Physical)->references == 1);
        job.physical_release(0xa);
    }
    SECTION("a release of something mapped") {
        job.free_failed(job.physical_release(0xa), 1);
        job.physical_release(0xa);
        job.unmap(kRange, 2 * kMiB);
    }
    SECTION("an unmap of part") {
        job.free_failed(job.unmap(kRange, kMiB), 1);
        CHECK(Played(job).only(Kind::Physical)->mapped_bytes == 2 * kMiB);
        job.unmap(kRange, 2 * kMiB);
        job.physical_release(0xa);
    }
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 0);
    CHECK(played.replay.virtual_memory().mappings().empty());
    CHECK(played.replay.oddities().unmatched_releases == 0);
}

TEST_CASE("maps and unmaps of the unknown are counted", "[replay][vmm]") {
    EventBuilder job;
    job.map(kRange, kMiB, 0xdead);
    job.unmap(kRange, kMiB);  // the mapping was seen, what it showed was not
    job.unmap(kRange, kMiB);  // this one was not
    job.add(EventKind::PhysicalRetain, {0x10, 0, 0xdead, 0, 0});
    const Played played(job);
    CHECK(played.replay.oddities().unmatched_uses == 2);
    CHECK(played.replay.oddities().unmatched_releases == 1);
}

TEST_CASE("mapping over a mapping whose unmap was lost replaces it", "[replay][vmm]") {
    EventBuilder job;
    job.physical_create(0xa, 2 * kMiB);
    job.map(kRange, 2 * kMiB, 0xa);
    job.physical_release(0xa);
    job.physical_create(0xb, 4 * kMiB);
    job.map(kRange, 4 * kMiB, 0xb);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 4 * kMiB);
    CHECK(played.ended(Ending::LostFree) == 1);
    CHECK(played.replay.oddities().unmatched_uses == 1);
}
