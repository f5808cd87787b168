// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/contexts.h"

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

// One of each, in the context and on the device that the builder stands at.
void allocate_everything(EventBuilder& job, uint64_t base) {
    job.device_alloc(base + 0x1000, 1);
    job.managed_alloc(base + 0x2000, 1);
    job.host_alloc(base + 0x3000, 1);
    job.address(EventKind::HostRegister, base + 0x4000, 1);
    job.object(EventKind::ArrayCreate, base + 1, 1);
    job.object(EventKind::MipmapCreate, base + 1, 1);
    job.object(EventKind::ModuleLoad, base + 1, 1);
    job.object(EventKind::StreamCreate, base + 1);
    job.object(EventKind::EventCreate, base + 1);
    job.add(EventKind::IpcOpen, {base + 0x5000, 1, 0, 9, 0});
    job.object(EventKind::ExternalImport, base + 1, 1);
    job.add(EventKind::ExternalBuffer, {base + 0x6000, 1, base + 1, 0, 0});
    // These do not belong to a context.
    job.physical_create(base + 1, 100);
    job.address(EventKind::AddressReserve, base + 0x7000, 100);
    job.pool_alloc(base + 0x8000, 100);
    job.object(EventKind::PoolCreate, base + 1);
    job.graph_alloc(base + 0x9000, 100, base + 1, 1);
    job.instantiate(base + 2, base + 1);
    job.launch(base + 2);
    job.object(EventKind::GraphExecDestroy, base + 2);
    job.object(EventKind::LibraryLoad, base + 1);
}
constexpr size_t kInContext = 12;
constexpr size_t kOutside = 7;  // physical, range, pool memory, pool, graph memory, graph, library

}  // namespace

TEST_CASE("destroying a context ends what was made in it, not VMM, not pools", "[replay][contexts]") {
    EventBuilder job;
    job.context(1).object(EventKind::ContextCreate, 0xc1);
    job.context(2).object(EventKind::ContextCreate, 0xc2);
    job.context(1);
    allocate_everything(job, 0x100000);
    job.context(2);
    allocate_everything(job, 0x200000);
    REQUIRE(Played(job).replay.live().size() == 2 + 2 * (kInContext + kOutside));
    job.context(0).object(EventKind::ContextDestroy, 0xc1);
    const Played played(job);
    CHECK(played.replay.live().size() == 1 + kInContext + 2 * kOutside);
    CHECK(played.ended(Ending::ContextEnded) == kInContext);
    CHECK(played.count(Kind::Context) == 1);
    CHECK(played.bytes(Kind::Physical) == 200);
    CHECK(played.bytes(Kind::PoolMemory) == 200);
    CHECK(played.bytes(Kind::GraphMemory) == 200);
}

TEST_CASE("the last reference ends the primary context", "[replay][contexts]") {
    EventBuilder job;
    job.object(EventKind::PrimaryRetain, 0xd0);
    job.context(1).object(EventKind::ContextSeen, 0xd0);
    job.object(EventKind::PrimaryRetain, 0xd0);
    job.device(1).context(2);
    job.object(EventKind::PrimaryRetain, 0xd1);
    job.object(EventKind::ContextSeen, 0xd1);
    job.device_alloc(0x9000, 5);
    job.device(0).context(1);
    job.device_alloc(0x1000, 100);
    job.context(0).device_alloc(0x2000, 10);  // made while the context was not known
    job.object(EventKind::PrimaryRelease, 0);
    REQUIRE(Played(job).bytes(Quantity::Device) == 115);
    job.object(EventKind::PrimaryRelease, 0);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 5);
    CHECK(played.only(Kind::PrimaryContext)->device == 1);
    CHECK(played.ended(Ending::ContextEnded) == 2);
}

TEST_CASE("the primary context's end spares contexts of the program's own", "[replay][contexts]") {
    EventBuilder job;
    job.context(1).object(EventKind::ContextCreate, 0xc1);
    job.device_alloc(0x1000, 100);
    job.context(2).object(EventKind::ContextSeen, 0xd0);
    job.device_alloc(0x2000, 10);
    job.object(EventKind::PrimaryReset, 0);
    CHECK(Played(job).bytes(Quantity::Device) == 100);
}

TEST_CASE("a reset ends the primary context's things and keeps its references", "[replay][contexts]") {
    EventBuilder job;
    job.object(EventKind::PrimaryRetain, 0xd0);
    job.context(1).object(EventKind::ContextSeen, 0xd0);
    job.device_alloc(0x1000, 100);
    job.object(EventKind::PrimaryReset, 0);
    const Played reset(job);
    CHECK(reset.bytes(Quantity::Device) == 0);
    CHECK(reset.only(Kind::PrimaryContext)->references == 1);
    job.device_alloc(0x1000, 30);  // the context is there again at the next call
    job.object(EventKind::PrimaryRelease, 0);
    const Played released(job);
    CHECK(released.replay.live().size() == 0);
    CHECK(released.replay.oddities().unmatched_releases == 0);
}

TEST_CASE("a green context holds a reference of the primary one", "[replay][contexts]") {
    EventBuilder job;
    job.object(EventKind::PrimaryRetain, 0xd0);
    job.context(1).object(EventKind::ContextSeen, 0xd0);
    job.object(EventKind::GreenCreate, 0x9);
    job.device_alloc(0x1000, 100);
    job.object(EventKind::PrimaryRelease, 0);
    REQUIRE(Played(job).bytes(Quantity::Device) == 100);
    job.object(EventKind::GreenDestroy, 0x9);
    CHECK(Played(job).replay.live().size() == 0);
}

TEST_CASE("refused ends of contexts bring everything back", "[replay][contexts]") {
    EventBuilder job;
    job.context(1).object(EventKind::ContextCreate, 0xc1);
    allocate_everything(job, 0x100000);
    job.free_failed(job.object(EventKind::ContextDestroy, 0xc1), 1);
    const Played played(job);
    CHECK(played.replay.live().size() == 1 + kInContext + kOutside);
    CHECK(played.restored == 1 + kInContext);

    EventBuilder primary;
    primary.object(EventKind::PrimaryRetain, 0xd0);
    primary.context(1).object(EventKind::ContextSeen, 0xd0);
    primary.device_alloc(0x1000, 100);
    primary.free_failed(primary.object(EventKind::PrimaryRelease, 0), 1);
    REQUIRE(Played(primary).bytes(Quantity::Device) == 100);
    CHECK(Played(primary).only(Kind::PrimaryContext)->references == 1);
    primary.object(EventKind::PrimaryRelease, 0);
    CHECK(Played(primary).replay.live().size() == 0);
}

TEST_CASE("ends of unknown contexts are counted", "[replay][contexts]") {
    EventBuilder job;
    job.object(EventKind::ContextDestroy, 0xc1);
    job.object(EventKind::PrimaryRelease, 0);
    job.object(EventKind::GreenDestroy, 0x9);
    CHECK(Played(job).replay.oddities().unmatched_releases == 3);
}

TEST_CASE("the primary context is told as a context first, and is no context of the program's own",
          "[replay][contexts]") {
    EventBuilder job;
    job.context(1).object(EventKind::ContextCreate, 0xd0);
    job.object(EventKind::PrimaryRetain, 0xd0);
    job.device_alloc(0x1000, 100);
    const Played played(job);
    CHECK(played.count(Kind::Context) == 0);
    CHECK(played.count(Kind::PrimaryContext) == 1);
    job.object(EventKind::PrimaryReset, 0);
    job.context(2).object(EventKind::ContextCreate, 0xd0);  // seen anew after the reset
    job.device_alloc(0x2000, 10);
    REQUIRE(Played(job).bytes(Quantity::Device) == 10);
    CHECK(Played(job).count(Kind::Context) == 0);
    job.object(EventKind::PrimaryRelease, 0);
    CHECK(Played(job).replay.live().size() == 0);
}
