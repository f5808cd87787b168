// SPDX-License-Identifier: Apache-2.0
#include "analyzer/instant/address_map.h"

#include "analyzer/instant/page_footprint.h"
#include "tests/support/catch.h"
#include "tests/support/event_builder.h"

using namespace vramtrace;
using instant::AddressMap;
using instant::kPageBytes;
using test::EventBuilder;
using trace::EventKind;

namespace {

constexpr uint64_t kBase = 0x7f1200000000;
constexpr uint64_t kMiB = 1 << 20;

AddressMap mapped(const EventBuilder& job, replay::Replay& replay, uint8_t device = 0) {
    for (const auto& event : job.events()) replay.apply(event);
    return instant::map_addresses(replay, device);
}

}  // namespace

TEST_CASE("holes inside touched pages", "[instant][address_map]") {
    EventBuilder job;
    job.device_alloc(kBase + kMiB / 2, kMiB / 2);      // page 0: hole of ½ before
    job.device_alloc(kBase + 3 * kMiB / 2, kMiB);      // pages 0 and 1: hole of ½ between, the rest after it
    job.device_alloc(kBase + 8 * kMiB, 2 * kMiB);      // a page of its own, full
    job.device(1).device_alloc(kBase + 32 * kMiB, 1);  // another device
    replay::Replay replay;
    const AddressMap map = mapped(job, replay);
    CHECK(map.pages.areas == 3);
    CHECK(map.pages.area_bytes == 3 * kPageBytes);
    CHECK(map.pages.taken_bytes == 7 * kMiB / 2);
    CHECK(map.pages.holes == 3);
    CHECK(map.pages.hole_bytes == 5 * kMiB / 2);
    CHECK(map.pages.largest == 3 * kMiB / 2);
    CHECK(map.pages.largest_run == instant::Run{kBase + 5 * kMiB / 2, 3 * kMiB / 2});
    CHECK(*map.pages.largest_hole_ratio == Approx(1 - 1.5 / 2.5));
    CHECK(*map.pages.hole_dispersion == Approx(1 - (0.25 + 0.25 + 2.25) / 6.25));
}

TEST_CASE("parts of reservations without a mapping", "[instant][address_map]") {
    EventBuilder job;
    job.address(EventKind::AddressReserve, kBase, 64 * kMiB);
    job.physical_create(5, 4 * kMiB);
    job.map(kBase + 8 * kMiB, 4 * kMiB, 5);
    replay::Replay replay;
    const AddressMap map = mapped(job, replay);
    CHECK(map.reservations.areas == 1);
    CHECK(map.reservations.taken_bytes == 4 * kMiB);
    CHECK(map.reservations.holes == 2);
    CHECK(map.reservations.largest == 52 * kMiB);
}

TEST_CASE("sites that keep pages, worst first", "[instant][address_map]") {
    EventBuilder job;
    job.stack(1);
    for (uint64_t i = 0; i < 4; ++i) job.device_alloc(kBase + i * kPageBytes, 512);  // one small piece a page
    job.stack(2).device_alloc(kBase + 512, kMiB);                                    // shares page 0
    job.stack(3).device_alloc(kBase + 100 * kPageBytes, 4 * kMiB);                   // keeps only its own
    replay::Replay replay;
    const AddressMap map = mapped(job, replay);
    REQUIRE(map.pinning.size() == 2);
    CHECK(replay.sites().key(map.pinning[0].site).stack == 1);
    CHECK(map.pinning[0].pages == 4);
    CHECK(map.pinning[0].live_bytes == 4 * 512);
    CHECK(map.pinning[0].alone_bytes == 3 * kPageBytes);
    CHECK(replay.sites().key(map.pinning[1].site).stack == 2);
}

TEST_CASE("nothing live, and addresses no real trace has", "[instant][address_map]") {
    EventBuilder job;
    replay::Replay empty;
    CHECK(mapped(job, empty).pages.areas == 0);
    job.device_alloc(UINT64_MAX - 10, UINT64_MAX);
    job.device_alloc(5, UINT64_MAX);
    job.address(EventKind::AddressReserve, UINT64_MAX - 5, UINT64_MAX);
    job.map(UINT64_MAX - 5, UINT64_MAX, 3);
    job.unmap(UINT64_MAX - 3, UINT64_MAX);
    replay::Replay replay;
    instant::PageFootprint pages;
    replay.attach(pages);
    CHECK(mapped(job, replay).reservations.areas == 0);
}
