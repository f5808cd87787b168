// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/replay.h"

#include "tests/support/catch.h"
#include "tests/unit/analyzer/replay/live.h"

using namespace vramtrace;
using replay::Ending;
using replay::Kind;
using replay::Quantity;
using test::EventBuilder;
using test::Played;
using trace::EventKind;

TEST_CASE("device memory lives from its allocation to its free", "[replay]") {
    EventBuilder job;
    job.stack(11).thread(7).context(3).device(1).device_alloc(0x1000, 100);
    job.stack(12).device_alloc(0x2000, 50);
    job.thread(8).device(0).device_free(0x2000);
    const Played played(job);
    REQUIRE(played.bytes(Quantity::Device) == 100);
    const replay::Allocation* left = played.only(Kind::DeviceMemory);
    REQUIRE(left != nullptr);
    CHECK(left->address == 0x1000);
    CHECK(left->stack == 11);
    CHECK(left->thread == 7);
    CHECK(left->context == 3);
    CHECK(left->device == 1);
    CHECK(left->birth.ticket == 0);
    // The device is that of the allocation, whoever frees.
    CHECK(played.last_released.device == 1);
    CHECK(played.releases.front().thread == 8);
}

TEST_CASE("each kind is counted in its own quantity", "[replay]") {
    EventBuilder job;
    job.device_alloc(0x1000, 1);
    job.managed_alloc(0x2000, 10);
    job.host_alloc(0x3000, 100);
    job.address(EventKind::HostRegister, 0x4000, 1000);
    job.address(EventKind::AddressReserve, 0x5000, 10000);
    job.object(EventKind::ArrayCreate, 0xa, 4);
    job.object(EventKind::MipmapCreate, 0xb, 8, 3);
    job.object(EventKind::ModuleLoad, 0xc, 16);
    job.object(EventKind::StreamCreate, 0xd);
    job.object(EventKind::EventCreate, 0xd);  // the same number, another thing
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 1 + 4 + 8 + 16);
    CHECK(played.bytes(Quantity::Managed) == 10);
    CHECK(played.bytes(Quantity::HostPinned) == 100);
    CHECK(played.bytes(Quantity::HostRegistered) == 1000);
    CHECK(played.bytes(Quantity::AddressSpace) == 10000);
    CHECK(played.bytes(Quantity::Handle) == 0);
    CHECK(played.count(Kind::Stream) == 1);
    CHECK(played.count(Kind::Event) == 1);
}

TEST_CASE("each kind ends by its own call and by no other", "[replay]") {
    EventBuilder job;
    job.host_alloc(0x3000, 100);
    job.address(EventKind::HostRegister, 0x3000, 100);
    job.address(EventKind::AddressReserve, 0x3000, 100);
    job.managed_alloc(0x3000, 100);
    job.object(EventKind::ArrayCreate, 0x1, 4);
    job.object(EventKind::MipmapCreate, 0x1, 4);
    job.object(EventKind::ModuleLoad, 0x1, 4);
    job.object(EventKind::LibraryLoad, 0x1);
    job.object(EventKind::StreamCreate, 0x1);
    job.object(EventKind::EventCreate, 0x1);
    SECTION("one after the other") {
        const std::pair<EventKind, bool> ends[] = {{EventKind::HostFree, true},       {EventKind::HostUnregister, true},
                                                   {EventKind::AddressFree, true},    {EventKind::DeviceFree, true},
                                                   {EventKind::ArrayDestroy, false},  {EventKind::MipmapDestroy, false},
                                                   {EventKind::ModuleUnload, false},  {EventKind::LibraryUnload, false},
                                                   {EventKind::StreamDestroy, false}, {EventKind::EventDestroy, false}};
        size_t live = 10;
        for (const auto& [kind, by_address] : ends) {
            by_address ? job.address(kind, 0x3000) : job.object(kind, 0x1);
            REQUIRE(Played(job).replay.live().size() == --live);
        }
        const Played played(job);
        CHECK(played.replay.oddities().unmatched_releases == 0);
        CHECK(played.ended(Ending::Freed) == 10);
    }
    SECTION("a wrong call ends nothing") {
        job.host_free(0x4000);
        job.object(EventKind::StreamDestroy, 0x2);
        const Played played(job);
        CHECK(played.replay.live().size() == 10);
        CHECK(played.replay.oddities().unmatched_releases == 2);
        CHECK(played.replay.oddities().unmatched_by_kind.at(EventKind::StreamDestroy) == 1);
    }
}

TEST_CASE("freeing nothing is not an unmatched free", "[replay]") {
    EventBuilder job;
    job.device_free(0);
    job.pool_free(0);
    job.host_free(0);
    CHECK(Played(job).replay.oddities().unmatched_releases == 0);
}

TEST_CASE("views and notes are never counted", "[replay]") {
    EventBuilder job;
    job.object(EventKind::ModuleLoad, 0xc, 16);
    job.add(EventKind::ModuleGlobal, {0x7000, 16, 0xc, 0, 0});
    job.add(EventKind::GraphicsPointer, {0x8000, 64, 0xd, 0, 0});
    job.add(EventKind::IpcExport, {0x7000, 0, 0, 5, 0});
    job.object(EventKind::PoolTrim, 0x1, 0);
    job.object(EventKind::GraphTrim, 0);
    job.memory_info(1, 2);
    const Played played(job);
    CHECK(played.replay.live().size() == 1);
    CHECK(played.bytes(Quantity::Device) == 16);
    CHECK(played.replay.oddities().unknown_events == 0);
}

TEST_CASE("an address given out again closes what was there", "[replay]") {
    EventBuilder job;
    job.device_alloc(0x1000, 100);
    job.lose(1).device_alloc(0x1000, 30);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 30);
    CHECK(played.replay.oddities().lost_frees == 1);
    CHECK(played.ended(Ending::LostFree) == 1);
}

TEST_CASE("at the end, memory lying over older memory shows a lost free", "[replay]") {
    EventBuilder job;
    job.device_alloc(0x1000, 0x1000);  // its free was lost, then its range was cut anew
    job.device_alloc(0x1800, 0x100);
    job.device_alloc(0x9000, 0x100);
    job.device_alloc(0x8f80, 0x80);  // beside, not over
    Played played(job);
    played.replay.finish();
    CHECK(played.bytes(Quantity::Device) == 0x280);
    CHECK(played.replay.oddities().lost_frees == 1);
}

TEST_CASE("a refused free takes its release back", "[replay]") {
    EventBuilder job;
    job.stack(5).device_alloc(0x1000, 100);
    const uint64_t ticket = job.device_free(0x1000);
    job.thread(2).device_alloc(0x2000, 1);
    job.thread(1).free_failed(ticket, 1);
    SECTION("live again with its old birth") {
        const Played played(job);
        CHECK(played.bytes(Quantity::Device) == 101);
        CHECK(played.restored == 1);
        CHECK(played.replay.oddities().refused_releases == 1);
        bool found = false;
        played.replay.live().for_each([&](const replay::Allocation& a) {
            if (a.address == 0x1000) found = a.birth.ticket == 0 && a.stack == 5;
        });
        CHECK(found);
    }
    SECTION("and can be freed afterwards") {
        job.device_free(0x1000);
        const Played played(job);
        CHECK(played.bytes(Quantity::Device) == 1);
        CHECK(played.replay.oddities().unmatched_releases == 0);
    }
}

TEST_CASE("a refused free of nothing is no sign of a lost event", "[replay]") {
    EventBuilder job;
    job.free_failed(job.device_free(0xdead), 1);
    const Played played(job);
    CHECK(played.replay.oddities().unmatched_releases == 0);
    CHECK(played.replay.oddities().unmatched_by_kind.empty());
    CHECK(played.replay.oddities().refused_unknown == 1);
}

TEST_CASE("a refusal whose release is unknown is counted", "[replay]") {
    EventBuilder job;
    job.device_alloc(0x1000, 100);
    job.free_failed(77, 1);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 100);
    CHECK(played.replay.oddities().refused_unknown == 1);
}

TEST_CASE("a free refused because the driver is gone counts as released", "[replay]") {
    const uint16_t result = GENERATE(4, 709, 700, 719);
    EventBuilder job;
    job.device_alloc(0x1000, 100);
    job.free_failed(job.device_free(0x1000), result);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 0);
    CHECK(played.context_lost == 1);
    CHECK(played.replay.oddities().context_lost == 1);
    CHECK(played.replay.oddities().refused_releases == 0);
}

TEST_CASE("'invalid context' means gone only after a context has ended", "[replay]") {
    const bool ended = GENERATE(false, true);
    EventBuilder job;
    job.object(EventKind::ContextCreate, 0xc);
    job.pool_alloc(0x1000, 100);
    if (ended) job.object(EventKind::ContextDestroy, 0xc);
    job.free_failed(job.pool_free(0x1000), 201);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == (ended ? 0 : 100));
    CHECK(played.context_lost == (ended ? 1 : 0));
}

TEST_CASE("refusals find their release among those of other threads", "[replay]") {
    EventBuilder job;
    std::vector<uint64_t> tickets;
    for (uint32_t i = 0; i < 300; ++i) {
        job.thread(i + 1).device_alloc(0x1000 + i * 0x1000, 10);
        tickets.push_back(job.device_free(0x1000 + i * 0x1000));
    }
    for (uint32_t i = 0; i < 300; i += 3) job.thread(i + 1).free_failed(tickets[i], 1);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 1000);
    CHECK(played.replay.oddities().refused_unknown == 0);
}

TEST_CASE("a ticket out of order and an unknown kind are counted, not fatal", "[replay]") {
    EventBuilder job;
    job.device_alloc(0x1000, 1);
    job.add(static_cast<EventKind>(250), {});
    replay::Replay replay;
    for (const auto& event : job.events()) replay.apply(event);
    replay.apply(job.events().front());
    CHECK(replay.oddities().unknown_events == 1);
    CHECK(replay.oddities().out_of_order == 1);
}

TEST_CASE("room is given back: slots follow what is live, not what happened", "[replay]") {
    EventBuilder job;
    Played played(job);
    trace::Event event;
    event.device = 0;
    for (uint64_t i = 0; i < 200'000; ++i) {
        event.sequence = i;
        event.thread = static_cast<uint32_t>(i / 2 % 100);
        event.address = 0x1000 * (i / 2 + 1);
        event.size = i;
        event.kind = i % 2 == 0 ? EventKind::DeviceAlloc : EventKind::DeviceFree;
        played.replay.apply(event);
    }
    CHECK(played.replay.live().size() == 0);
    CHECK(played.replay.live().slots() <= 1024);
}
