// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/at_exit.h"

#include "tests/unit/analyzer/accounts/read_accounts.h"

using namespace vramtrace;
using accounts::Accounts;
using accounts::Amount;
using accounts::Kind;
using accounts::Quantity;
using instant::Part;
using test::accounts_of;
using test::EventBuilder;
using test::site_at;
using trace::EventKind;

namespace {

// As the runtime does it: the primary context at the first call, its end at exit.
EventBuilder started() {
    EventBuilder job;
    job.stack(99).context(1).object(EventKind::ContextCreate, 0xd0);
    job.object(EventKind::PrimaryRetain, 0xd0);
    return job;
}

}  // namespace

TEST_CASE("what ends only with its context at exit was left behind", "[accounts][exit]") {
    constexpr uint64_t kPage = 2 << 20;
    EventBuilder job = started();
    job.stack(1).device_alloc(0x7f0000000000, 100);
    job.stack(2).device_alloc(0x7f0000200000, 10);
    job.stack(3).object(EventKind::StreamCreate, 0x5);
    job.stack(4).host_alloc(0x1000, 7);
    job.stack(5).pool_alloc(0x7f0000400000, 30);  // not the context's: live at the end
    job.device_free(0x7f0000200000);
    const uint64_t end = job.stack(6).context(0).object(EventKind::PrimaryRelease, 0);
    SECTION("and is what a leak summary sums up") {
        const Accounts numbers = accounts_of(job);
        const accounts::Total& device = *numbers.total(0, Quantity::Device);
        CHECK(device.live == Amount{1, 30});  // by the last event
        CHECK(device.left == Amount{2, 130});
        CHECK(numbers.total(trace::kNoDevice, Quantity::HostPinned)->left == Amount{1, 7});
        CHECK(site_at(numbers, 1).left == Amount{1, 100});
        CHECK(site_at(numbers, 2).left == Amount{0, 0});
        REQUIRE(numbers.leaks.size() == 4);
        CHECK(numbers.leaks[0].live == Amount{1, 100});
        CHECK(numbers.leaks[0].ended_with_context == Amount{1, 100});
        CHECK(numbers.leaks[1].ended_with_context == Amount{0, 0});
        CHECK(numbers.exit->ticket == end);
        for (const accounts::HandleCount& handle : numbers.handles) {
            CHECK(handle.live == 0);
            CHECK(handle.left == (handle.kind == Kind::Stream ? 1 : 0));
        }
        // The device is shown as it was just before.
        CHECK(numbers.devices.at(0).now.bytes(Part::LiveRequested) == 130);
        CHECK(numbers.devices.at(0).now.moment.ticket + 1 == end);
        CHECK(numbers.devices.at(0).addresses.pages.area_bytes == kPage);
    }
    SECTION("unless the program goes on: then it was a reset") {
        job.context(1).stack(7).device_alloc(0x7f0000000000, 1);
        const Accounts numbers = accounts_of(job);
        CHECK(numbers.total(0, Quantity::Device)->left == Amount{2, 31});
        CHECK_FALSE(numbers.exit);
        CHECK(numbers.devices.at(0).now.bytes(Part::LiveRequested) == 31);
    }
    SECTION("unless it is freed too late: by a destructor after the runtime's") {
        const uint64_t ticket = job.device_free(0x7f0000000000);
        job.free_failed(ticket, 4);
        const Accounts numbers = accounts_of(job);
        CHECK(numbers.total(0, Quantity::Device)->left == Amount{1, 30});
        CHECK(numbers.late_frees == 1);
        CHECK(numbers.oddities.unmatched_releases == 0);
    }
    SECTION("also if the driver was gone already when the context was given back") {
        job.free_failed(end, 4);
        CHECK(accounts_of(job).total(0, Quantity::Device)->left == Amount{2, 130});
    }
    SECTION("and nothing if the release was refused for another reason") {
        job.free_failed(end, 1);
        const Accounts numbers = accounts_of(job);
        CHECK(numbers.total(0, Quantity::Device)->live == Amount{2, 130});
        CHECK(numbers.total(0, Quantity::Device)->left == Amount{2, 130});
        CHECK(numbers.leaks[0].ended_with_context == Amount{0, 0});
        CHECK_FALSE(numbers.exit);
    }
}

TEST_CASE("several devices are taken down one after the other", "[accounts][exit]") {
    EventBuilder job;
    for (uint8_t device = 0; device < 2; ++device) {
        job.device(device).context(device + 1);
        job.object(EventKind::ContextCreate, 0xd0 + device);
        job.object(EventKind::PrimaryRetain, 0xd0 + device);
        job.device_alloc(0x1000 + device * 0x1000, 100);
    }
    for (uint8_t device = 0; device < 2; ++device) job.device(device).object(EventKind::PrimaryRelease, 0);
    const Accounts numbers = accounts_of(job);
    for (uint8_t device = 0; device < 2; ++device) {
        CHECK(numbers.total(device, Quantity::Device)->left == Amount{1, 100});
        CHECK(numbers.devices.at(device).now.bytes(Part::LiveRequested) == 100);
    }
}
