// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/accountant.h"

#include "tests/unit/analyzer/accounts/read_accounts.h"

using namespace vramtrace;
using accounts::Accountant;
using accounts::Accounts;
using accounts::Amount;
using accounts::Ending;
using accounts::Kind;
using accounts::Quantity;
using instant::Part;
using test::accounts_of;
using test::EventBuilder;
using test::site_at;
using trace::EventKind;

TEST_CASE("an empty trace has empty accounts", "[accounts]") {
    const Accounts numbers = accounts_of({});
    CHECK(numbers.events == 0);
    CHECK(numbers.totals.empty());
    CHECK(numbers.leaks.empty());
    CHECK(numbers.finished);
}

TEST_CASE("totals per device and quantity, the process's host memory once", "[accounts]") {
    EventBuilder job;
    job.device(0).device_alloc(0x1000, 100);
    job.device(1).device_alloc(0x2000, 10);
    job.device(0).host_alloc(0x3000, 5);
    job.device(1).host_alloc(0x4000, 6);
    job.device_free(0x2000);
    const Accounts numbers = accounts_of(job);
    CHECK(numbers.total(0, Quantity::Device)->live == Amount{1, 100});
    CHECK(numbers.total(1, Quantity::Device)->live == Amount{0, 0});
    CHECK(numbers.total(1, Quantity::Device)->peak == Amount{1, 10});
    CHECK(numbers.total(1, Quantity::Device)->ended[static_cast<size_t>(Ending::Freed)] == Amount{1, 10});
    CHECK(numbers.total(trace::kNoDevice, Quantity::HostPinned)->live == Amount{2, 11});
    CHECK(numbers.total(0, Quantity::HostPinned) == nullptr);
    REQUIRE(numbers.totals.size() == 3);
    CHECK(numbers.totals.back().device == trace::kNoDevice);
}

TEST_CASE("who made the peak", "[accounts][peak]") {
    EventBuilder job;
    job.stack(1).device_alloc(0x1000, 100);
    job.stack(2).device_alloc(0x2000, 50);
    job.device_free(0x1000);
    job.stack(3).device_alloc(0x3000, 120);  // the peak: 170 = 2 and 3
    const uint64_t ticket = job.events().back().sequence;
    job.device_free(0x3000);
    job.stack(1).device_alloc(0x4000, 110);
    job.device_free(0x2000);
    const Accounts numbers = accounts_of(job);
    CHECK(numbers.total(0, Quantity::Device)->peak == Amount{2, 170});
    CHECK(numbers.total(0, Quantity::Device)->peak_moment.ticket == ticket);
    CHECK(site_at(numbers, 1).at_peak == Amount{0, 0});
    CHECK(site_at(numbers, 2).at_peak == Amount{1, 50});
    CHECK(site_at(numbers, 3).at_peak == Amount{1, 120});
    CHECK(site_at(numbers, 1).own_peak == Amount{1, 110});
}

TEST_CASE("the same stack by another call, label or device is another site", "[accounts]") {
    EventBuilder job;
    job.api(1).label(0).device_alloc(0x1000, 1);
    job.api(1).label(2).device_alloc(0x2000, 1);
    job.api(3).label(2).device_alloc(0x3000, 1);
    job.device(1).device_alloc(0x4000, 1);
    job.device_alloc(0x5000, 1);
    const Accounts numbers = accounts_of(job);
    REQUIRE(numbers.sites.size() == 4);
    CHECK(numbers.sites.back().live.count == 2);
}

TEST_CASE("churn: how often and how long", "[accounts][sites]") {
    EventBuilder job;
    job.stack(9);
    for (uint64_t i = 1; i <= 100; ++i) {
        job.thread(static_cast<uint32_t>(i % 20)).device_alloc(0x1000, i);
        job.wait(i == 100 ? 1'000'000'000 : 63'000).device_free(0x1000);  // + 1 µs to the next event
    }
    job.device_alloc(0x1000, 7);
    const Accounts numbers = accounts_of(job);
    const accounts::Site& site = site_at(numbers, 9);
    CHECK(site.allocated == Amount{101, 5057});
    CHECK(site.churned == 100);
    CHECK(site.lifetime_min == 64'000);
    CHECK(site.lifetime_max == 1'000'001'000);
    CHECK(site.lifetime_sum == 99 * 64'000 + 1'000'001'000ULL);
    CHECK(site.lifetime_median >= 64'000);  // within a factor of √2
    CHECK(site.lifetime_median <= 91'000);
    CHECK(site.largest == 100);
    CHECK(site.threads.size() == accounts::kSiteThreads);
    CHECK(site.more_threads);
    CHECK(site.first.ticket == 0);
    CHECK(site.last.ticket == 200);
}

TEST_CASE("leaks: live at the end by site, with the thread's last sign of life", "[accounts][leaks]") {
    EventBuilder job;
    job.thread(7).stack(1).device_alloc(0x1000, 100);
    job.device_alloc(0x2000, 300);
    job.device_alloc(0x3000, 200);
    job.device_free(0x3000);
    job.thread(8).stack(2).object(EventKind::StreamCreate, 0x5);
    job.stack(3).device_alloc(0x4000, 1);
    job.device_free(0x4000);
    const Accounts numbers = accounts_of(job);
    REQUIRE(numbers.leaks.size() == 2);
    const accounts::Leak& leak = numbers.leaks[0];
    CHECK(numbers.sites[leak.site].key.stack == 1);
    CHECK(leak.live == Amount{2, 400});
    CHECK(leak.smallest == 100);
    CHECK(leak.largest == 300);
    CHECK(leak.example.address == 0x2000);
    CHECK(leak.first_birth.ticket == 0);
    CHECK(leak.last_birth.ticket == 1);
    CHECK(leak.threads == std::vector<uint32_t>{7});
    CHECK(leak.last_sign.ticket == 3);  // then thread 7 was not heard of any more
    CHECK(numbers.leaks[1].live == Amount{1, 0});
    CHECK(numbers.thread(7)->events == 4);
    CHECK(numbers.thread(9) == nullptr);
}

TEST_CASE("leaked VMM handles tell whether they are mapped, graph memory whether its graph is gone",
          "[accounts][leaks]") {
    EventBuilder job;
    job.stack(1).physical_create(0xa, 100);
    job.physical_create(0xb, 10);
    job.map(0x10000, 10, 0xb);
    job.stack(2).graph_alloc(0x90000, 64, 0xc, 1);
    job.stack(3).instantiate(0xe, 0xc);
    job.launch(0xe);
    job.object(EventKind::GraphExecDestroy, 0xe);
    const Accounts numbers = accounts_of(job);
    for (const accounts::Leak& leak : numbers.leaks) {
        const Kind kind = numbers.sites[leak.site].key.kind;
        if (kind == Kind::Physical) CHECK(leak.unmapped == Amount{1, 100});
        if (kind == Kind::GraphMemory) CHECK(leak.owner_destroyed == Amount{1, 64});
    }
    CHECK(numbers.leaks.size() == 3);  // the graph's handle too
}

TEST_CASE("releases in flight at the process's death are counted apart", "[accounts][leaks]") {
    EventBuilder job;
    job.stack(1).device_alloc(0x1000, 100);
    job.stack(2).device_alloc(0x2000, 10);
    job.stack(3);
    const uint64_t first = job.thread(1).device_free(0x1000);
    const uint64_t second = job.thread(2).device_free(0x2000);
    const Accounts numbers = accounts_of(job, {first, second + 50});
    const accounts::Total& total = *numbers.total(0, Quantity::Device);
    CHECK(total.live == Amount{0, 0});
    CHECK(total.in_flight == Amount{1, 100});
    CHECK(total.ended[static_cast<size_t>(Ending::Freed)] == Amount{1, 10});
    CHECK(site_at(numbers, 1).in_flight == Amount{1, 100});
    REQUIRE(numbers.leaks.size() == 1);
    CHECK(numbers.leaks[0].live == Amount{0, 0});
    CHECK(numbers.leaks[0].in_flight == Amount{1, 100});
    CHECK(numbers.oddities.in_flight_unknown == 1);
}

TEST_CASE("handles that stay open are listed by kind", "[accounts][handles]") {
    EventBuilder job;
    job.object(EventKind::StreamCreate, 1);
    job.object(EventKind::StreamCreate, 2);
    job.object(EventKind::StreamDestroy, 1);
    job.add(EventKind::IpcOpen, {0x1000, 4096, 0, 7, 0});
    const Accounts numbers = accounts_of(job);
    REQUIRE(numbers.handles.size() == 2);
    CHECK(numbers.handles[0].kind == Kind::IpcMemory);
    CHECK(numbers.handles[0].borrowed_bytes == 4096);
    CHECK(numbers.handles[1].made == 2);
    CHECK(numbers.handles[1].live == 1);
    CHECK(numbers.handles[1].most == 2);
    CHECK(numbers.total(0, Quantity::Handle)->peak == Amount{2, 0});
}

TEST_CASE("a device at its end and at its peak", "[accounts][instant]") {
    constexpr uint64_t kMiB = 1 << 20, kTotal = 1000 * kMiB;
    EventBuilder job;
    job.memory_info(kTotal - 100 * kMiB, kTotal);  // contexts and code: 100 MiB
    job.device_alloc(0x7f0000000000, 20 * kMiB);
    job.device_alloc(0x7f0010000000, 512);
    job.pool_alloc(0x7f0020000000, 10 * kMiB);
    job.add(EventKind::PoolInfo, {0, 32 * kMiB, 0, 10 * kMiB, 0});
    job.memory_info(kTotal - (100 + 20 + 2 + 32) * kMiB, kTotal);
    job.device_free(0x7f0000000000);
    const Accounts numbers = accounts_of(job);
    const accounts::DeviceInstant& device = numbers.devices.at(0);
    CHECK(device.footprint_peak == 22 * kMiB);

    const instant::Decomposition& now = device.now;
    CHECK(now.bytes(Part::LiveRequested) == 10 * kMiB + 512);
    CHECK(now.bytes(Part::DriverRounding) == 2 * kMiB - 512);
    CHECK(now.bytes(Part::PoolUnused) == 22 * kMiB);
    CHECK(now.bytes(Part::NotTraced) == 100 * kMiB);
    CHECK(now.bytes(Part::Free) == kTotal - 134 * kMiB);

    const instant::Decomposition& peak = device.at_peak;
    CHECK(peak.bytes(Part::LiveRequested) == 30 * kMiB + 512);
    CHECK(peak.bytes(Part::DriverRounding) == 2 * kMiB - 512);
    CHECK(peak.bytes(Part::NotTraced) == 100 * kMiB);
    CHECK(peak.moment == numbers.total(0, Quantity::Device)->peak_moment);
    CHECK(numbers.memory_samples.at(0).size() == 2);
    CHECK(device.addresses.pages.areas == 1);
    REQUIRE(numbers.pools.size() == 1);
    CHECK(numbers.pools[0].last->unused() == 22 * kMiB);
}

TEST_CASE("samples are thinned, the last one stays", "[accounts][instant]") {
    EventBuilder job;
    for (uint64_t i = 0; i < 20'000; ++i) job.memory_info(i, 100'000);
    const Accounts numbers = accounts_of(job);
    const auto& samples = numbers.memory_samples.at(0);
    CHECK(samples.size() <= accounts::kMemorySamples + 1);
    CHECK(samples.size() >= accounts::kMemorySamples / 2);
    CHECK(samples.front().free_bytes == 0);
    CHECK(samples.back().free_bytes == 19'999);
    const uint64_t stride = samples[1].free_bytes;
    for (size_t i = 0; i + 1 < samples.size(); ++i) REQUIRE(samples[i].free_bytes == i * stride);
}

TEST_CASE("notes are kept once each, with their count; a stop is remembered", "[accounts]") {
    EventBuilder job;
    for (int i = 0; i < 3; ++i) job.add(EventKind::Unhooked, {0, 12000, 0, 5, 0});
    job.add(EventKind::Unhooked, {0, 13000, 0, 5, 0});
    job.add(EventKind::BlindSpot, {0, 0, 0, 6, 0});
    const uint64_t ticket = job.add(EventKind::RecordingStopped, {0, 0, 0, 7, 0});
    const Accounts numbers = accounts_of(job);
    REQUIRE(numbers.notes.size() == 4);
    CHECK(numbers.notes[0].count == 3);
    CHECK(numbers.notes[0].version == 12000);
    CHECK(numbers.notes[2].text == 6);
    CHECK(numbers.stopped->ticket == ticket);
}

TEST_CASE("threads beyond the limit: the longest silent are forgotten, and counted", "[accounts]") {
    Accountant accountant;
    trace::Event event;
    event.kind = EventKind::MemoryInfo;
    for (uint32_t i = 0; i < accounts::kThreads + 10; ++i) {
        event.sequence = event.time = event.thread = i;
        accountant.add({&event, 1});
    }
    const Accounts numbers = accountant.accounts();
    CHECK(numbers.threads.size() + numbers.threads_dropped == accounts::kThreads + 10);
    CHECK(numbers.threads_dropped > 0);
    CHECK(numbers.thread(0) == nullptr);
    CHECK(numbers.thread(accounts::kThreads) != nullptr);
}

TEST_CASE("memory grows with what is live, not with events", "[accounts]") {
    Accountant accountant;
    trace::Event event;
    event.device = 0;
    std::vector<trace::Event> batch;
    for (uint64_t i = 0; i < 1'000'000; ++i) {
        const uint64_t pair = i / 2;
        event.sequence = i;
        event.time = i * 500;
        event.thread = static_cast<uint32_t>(pair % 8);
        event.stack = static_cast<uint32_t>(1 + pair % 64);
        event.address = 0x7f0000000000 + pair * 512;
        event.size = 1 + pair % 1000;
        event.kind = i % 2 == 0 ? EventKind::DeviceAlloc : EventKind::DeviceFree;
        batch.push_back(event);
        if (batch.size() < 4096) continue;
        accountant.add(batch);
        batch.clear();
    }
    accountant.add(batch);
    CHECK(accountant.replay().live().size() == 0);
    CHECK(accountant.replay().live().slots() <= 1024);
    const Accounts numbers = accountant.accounts();
    CHECK(numbers.events == 1'000'000);
    CHECK(numbers.sites.size() == 64);
    CHECK(numbers.timelines[0].points.size() <= accounts::kTimelinePoints);
    CHECK(numbers.total(0, Quantity::Device)->allocated.count == 500'000);
}
