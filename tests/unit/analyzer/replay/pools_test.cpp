// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/pools.h"

#include "tests/support/catch.h"
#include "tests/unit/analyzer/replay/live.h"

using namespace vramtrace;
using replay::Kind;
using replay::Quantity;
using test::EventBuilder;
using test::Played;
using trace::EventKind;

TEST_CASE("an asynchronous free ends the allocation in program order", "[replay][pools]") {
    EventBuilder job;
    job.pool_alloc(0x1000, 100, 0, 0x5);
    CHECK(Played(job).bytes(Quantity::Device) == 100);
    job.pool_free(0x1000, 0x6);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 0);
    CHECK(played.replay.pools().states().at({0, 0}).live_bytes == 0);
    CHECK(played.replay.pools().states().at({0, 0}).peak_live_bytes == 100);
}

TEST_CASE("either free call ends either kind of memory", "[replay][pools]") {
    EventBuilder job;
    job.pool_alloc(0x1000, 100);
    job.device_free(0x1000);
    job.device_alloc(0x2000, 50);
    job.pool_free(0x2000);
    job.object(EventKind::ExternalImport, 0xe, 64);
    job.add(EventKind::ExternalBuffer, {0x3000, 64, 0xe, 0, 0});
    job.device_free(0x3000);
    job.add(EventKind::PoolPointerImport, {0x4000, 0, 0xf, 0, 0});
    job.pool_free(0x4000);
    const Played played(job);
    CHECK(played.replay.live().size() == 1);  // the external memory itself
    CHECK(played.replay.oddities().unmatched_releases == 0);
}

TEST_CASE("memory comes from the device's current pool unless one is named", "[replay][pools]") {
    EventBuilder job;
    job.object(EventKind::PoolCreate, 0xa);
    job.object(EventKind::PoolCreate, 0xb);
    job.pool_alloc(0x1000, 1);
    job.object(EventKind::DeviceSetPool, 0xa);
    job.pool_alloc(0x2000, 10);
    job.pool_alloc(0x3000, 100, 0xb);
    job.device(1).pool_alloc(0x4000, 1000);
    const Played played(job);
    const auto& pools = played.replay.pools().states();
    CHECK(pools.at({0, 0}).live_bytes == 1);
    CHECK(pools.at({0, 0xa}).live_bytes == 10);
    CHECK(pools.at({0, 0xb}).live_bytes == 100);
    CHECK(pools.at({1, 0}).live_bytes == 1000);
}

TEST_CASE("a handle nobody created is the device's default pool", "[replay][pools]") {
    EventBuilder job;
    job.pool_alloc(0x1000, 1, 0xdef);
    job.pool_alloc(0x2000, 2);
    CHECK(Played(job).replay.pools().states().at({0, 0}).live_bytes == 3);
}

TEST_CASE("destroying a pool waits for its memory", "[replay][pools]") {
    EventBuilder job;
    job.object(EventKind::PoolCreate, 0xa);
    job.object(EventKind::DeviceSetPool, 0xa);
    job.pool_alloc(0x1000, 100);
    job.object(EventKind::PoolDestroy, 0xa);
    const Played waiting(job);
    CHECK(waiting.bytes(Quantity::Device) == 100);
    CHECK(waiting.count(Kind::Pool) == 0);  // the handle is closed
    CHECK(waiting.replay.pools().states().at({0, 0xa}).destroyed);
    CHECK((waiting.only(Kind::PoolMemory)->flags & replay::kOwnerDestroyed) != 0);
    // It is no longer the device's current one.
    job.pool_alloc(0x2000, 7);
    CHECK(Played(job).replay.pools().states().at({0, 0}).live_bytes == 7);
    job.pool_free(0x1000);
    const Played gone(job);
    CHECK(gone.bytes(Quantity::Device) == 7);
    CHECK(gone.replay.pools().states().count({0, 0xa}) == 0);
}

TEST_CASE("a refused pool destruction changes nothing", "[replay][pools]") {
    EventBuilder job;
    job.object(EventKind::PoolCreate, 0xa);
    job.object(EventKind::DeviceSetPool, 0xa);
    job.pool_alloc(0x1000, 100);
    job.free_failed(job.object(EventKind::PoolDestroy, 0xa), 1);
    job.pool_alloc(0x2000, 1);
    const Played played(job);
    CHECK(played.count(Kind::Pool) == 1);
    CHECK(played.replay.pools().states().at({0, 0xa}).live_bytes == 101);
    CHECK_FALSE(played.replay.pools().states().at({0, 0xa}).destroyed);
}

TEST_CASE("what is freed but still held shows in the pool's own numbers", "[replay][pools]") {
    EventBuilder job;
    job.object(EventKind::PoolCreate, 0xa);
    job.pool_alloc(0x1000, 100, 0xa);
    job.pool_alloc(0x2000, 50, 0xa);
    job.pool_free(0x1000);
    job.add(EventKind::PoolInfo, {0, 4096, 0xa, 150, 0});
    const Played played(job);
    const replay::PoolState& pool = played.replay.pools().states().at({0, 0xa});
    REQUIRE(pool.last);
    CHECK(pool.last->live == 50);
    CHECK(pool.last->pending() == 100);
    CHECK(pool.last->unused() == 4096 - 150);
    CHECK(pool.peak_reserved == 4096);
}

TEST_CASE("an imported pointer is another's memory", "[replay][pools]") {
    EventBuilder job;
    job.object(EventKind::PoolCreate, 0xa, 0, 1);
    job.add(EventKind::PoolPointerImport, {0x1000, 64, 0xa, 0, 0});
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 0);
    CHECK(played.count(Kind::ImportedPointer) == 1);
    CHECK(played.count(Kind::Pool) == 1);
}

TEST_CASE("the release threshold is kept", "[replay][pools]") {
    EventBuilder job;
    job.object(EventKind::PoolCreate, 0xa);
    job.add(EventKind::PoolSetAttribute, {0, 12345, 0xa, 4, 0});
    CHECK(Played(job).replay.pools().states().at({0, 0xa}).release_threshold == 12345U);
}
