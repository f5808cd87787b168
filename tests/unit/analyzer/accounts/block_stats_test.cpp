// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/block_stats.h"

#include "tests/unit/analyzer/accounts/read_accounts.h"

using namespace vramtrace;
using accounts::Accounts;
using accounts::BlockTable;
using accounts::Gauge;
using test::accounts_of;
using test::EventBuilder;
using E = EventBuilder::Kind;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kSmall = 0x7f0000000000;
constexpr uint64_t kLarge = 0x7f1000000000;
constexpr uint64_t kRange = 0x7e0000000000;

const BlockTable& table(const Accounts& numbers, size_t at = 0) {
    REQUIRE(numbers.blocks.size() > at);
    return numbers.blocks[at];
}

}  // namespace

TEST_CASE("the table of an allocator that caches: memory_summary's rows", "[accounts][blocks]") {
    EventBuilder job;
    job.device_alloc(kSmall, 2 * kMiB);
    job.block_alloc(kSmall, 512);
    job.block_alloc(kSmall + 512, 1024);
    job.device_alloc(kLarge, 20 * kMiB);
    job.block_alloc(kLarge, 8 * kMiB);
    job.block_alloc(kLarge + 8 * kMiB, 4 * kMiB);
    job.block_free(kLarge);
    job.block_alloc(kLarge, 2 * kMiB);
    job.block_free(kSmall);
    job.block_free(kSmall + 512);
    const Accounts numbers = accounts_of(job);
    const BlockTable& t = table(numbers);
    CHECK(t.device == 0);
    CHECK(t.all.allocated.count == Gauge{2, 4, 5, 3});
    CHECK(t.all.allocated.bytes == Gauge{6 * kMiB, 12 * kMiB + 1536, 14 * kMiB + 1536, 8 * kMiB + 1536});
    CHECK(t.small.allocated.count == Gauge{0, 2, 2, 2});
    CHECK(t.large.allocated.bytes == Gauge{6 * kMiB, 12 * kMiB, 14 * kMiB, 8 * kMiB});
    CHECK(t.all.reserved.bytes == Gauge{22 * kMiB, 22 * kMiB, 22 * kMiB, 0});
    CHECK(t.all.reserved.count == Gauge{2, 2, 2, 0});
    CHECK(t.small.reserved.bytes.current == 2 * kMiB);
    CHECK(t.large.reserved.bytes.current == 20 * kMiB);
    // Large: [0,2) live, [2,8) free, [8,12) live, [12,20) free. Small: all free, so nothing of it is split.
    CHECK(t.large.split.count.current == 2);
    CHECK(t.large.split.bytes.current == 14 * kMiB);
    CHECK(t.small.split.count.current == 0);
    CHECK(t.small.split.bytes.current == 0);
    CHECK(t.all.split.count.peak == 4);  // two pieces in each, while the small segment had one block
    CHECK(t.large.split.bytes.gained - t.large.split.bytes.lost == 14 * kMiB);

    // The layer's own accounts agree, and the driver's are untouched by it.
    const accounts::Total* tensors = numbers.total(0, accounts::Quantity::Block);
    REQUIRE(tensors != nullptr);
    CHECK(tensors->live.bytes == t.all.allocated.bytes.current);
    CHECK(tensors->peak.bytes == t.all.allocated.bytes.peak);
    CHECK(tensors->allocated.count == t.all.allocated.count.gained);
    CHECK(numbers.total(0, accounts::Quantity::Device)->live.bytes == 22 * kMiB);
}

TEST_CASE("split pieces follow PyTorch's own arithmetic step by step", "[accounts][blocks]") {
    EventBuilder job;
    accounts::Accountant accountant;
    size_t done = 0;
    const auto now = [&]() -> accounts::BlockPool {
        const auto& events = job.events();
        accountant.add({events.data() + done, events.size() - done});
        done = events.size();
        return accountant.block_tables().at(0).large;
    };
    job.device_alloc(kLarge, 20 * kMiB);
    job.block_alloc(kLarge, 4 * kMiB);  // a new remainder
    CHECK(now().split.bytes == Gauge{16 * kMiB, 16 * kMiB, 16 * kMiB, 0});
    CHECK(now().split.count == Gauge{1, 1, 1, 0});
    job.block_alloc(kLarge + 4 * kMiB, 4 * kMiB);  // the remainder shrinks
    CHECK(now().split.bytes == Gauge{12 * kMiB, 16 * kMiB, 16 * kMiB, 4 * kMiB});
    CHECK(now().split.count == Gauge{1, 1, 1, 0});
    job.block_free(kLarge);  // a second free piece
    CHECK(now().split.bytes == Gauge{16 * kMiB, 16 * kMiB, 20 * kMiB, 4 * kMiB});
    CHECK(now().split.count == Gauge{2, 2, 2, 0});
    job.block_alloc(kLarge, 4 * kMiB);  // fits exactly
    CHECK(now().split.count == Gauge{1, 2, 2, 1});
    job.block_free(kLarge + 4 * kMiB);  // merges with the piece behind it
    CHECK(now().split.bytes.current == 16 * kMiB);
    CHECK(now().split.count == Gauge{1, 2, 2, 1});
    job.block_free(kLarge);  // the whole segment is free: it can go back, nothing is split
    CHECK(now().split.bytes.current == 0);
    CHECK(now().split.count.current == 0);
    job.device_free(kLarge);
    CHECK(now().reserved.bytes == Gauge{0, 20 * kMiB, 20 * kMiB, 20 * kMiB});
    CHECK(now().reserved.count == Gauge{0, 1, 1, 1});
}

TEST_CASE("an expandable segment reserves what is mapped and is never split", "[accounts][blocks]") {
    EventBuilder job;
    job.address(E::AddressReserve, kRange, 1024 * kMiB);
    for (uint64_t i = 0; i < 3; ++i) {
        job.physical_create(0x10 + i, 20 * kMiB);
        job.map(kRange + i * 20 * kMiB, 20 * kMiB, 0x10 + i);
    }
    job.block_alloc(kRange, 50 * kMiB);
    job.address(E::AddressReserve, kRange + 2048 * kMiB, 1024 * kMiB);
    job.physical_create(0x20, 2 * kMiB);
    job.map(kRange + 2048 * kMiB, 2 * kMiB, 0x20);
    job.block_alloc(kRange + 2048 * kMiB, 512);
    job.physical_create(0x13, 20 * kMiB);
    job.map(kRange + 60 * kMiB, 20 * kMiB, 0x13);
    job.block_free(kRange);
    job.block_alloc(kRange + 20 * kMiB, 20 * kMiB);
    job.unmap(kRange + 60 * kMiB, 20 * kMiB);
    const Accounts numbers = accounts_of(job);
    const BlockTable& t = table(numbers);
    CHECK(t.large.reserved.bytes == Gauge{60 * kMiB, 80 * kMiB, 80 * kMiB, 20 * kMiB});
    CHECK(t.small.reserved.bytes.current == 2 * kMiB);
    CHECK(t.all.reserved.count == Gauge{0, 0, 0, 0});
    CHECK(t.all.split.bytes.current == 0);
    CHECK(t.small.allocated.count.current == 1);
    CHECK(t.large.allocated.count.current == 1);
    REQUIRE(numbers.devices.at(0).segments);
    const instant::SegmentMap& map = *numbers.devices.at(0).segments;
    CHECK(map.large.largest_hole == 20 * kMiB);
    CHECK(map.large.reserved == 60 * kMiB);
    CHECK(map.small.live == 512);
    CHECK(map.segments == 2);
}

TEST_CASE("what sleeps stays reserved for the framework and is told apart", "[accounts][blocks]") {
    EventBuilder job;
    job.address(E::AddressReserve, kRange, 64 * kMiB);
    job.physical_create(0x10, 20 * kMiB);
    job.map(kRange, 20 * kMiB, 0x10);
    job.block_alloc(kRange, 20 * kMiB, 20 * kMiB, 20 * kMiB);
    job.unmap(kRange, 20 * kMiB);
    job.physical_release(0x10);
    const Accounts asleep = accounts_of(job);
    CHECK(table(asleep).all.reserved.bytes.current == 20 * kMiB);
    CHECK(table(asleep).offloaded_segment_bytes == 20 * kMiB);
    CHECK(table(asleep).state.offloaded_bytes == 20 * kMiB);
    CHECK(table(asleep).all.allocated.bytes.current == 20 * kMiB);
    CHECK(asleep.total(0, accounts::Quantity::Device)->live.bytes == 0);
    REQUIRE(asleep.leaks.size() == 2);  // the reservation and the blocks
    CHECK(asleep.leaks[0].offloaded.bytes + asleep.leaks[1].offloaded.bytes == 20 * kMiB);
    job.physical_create(0x11, 20 * kMiB);
    job.map(kRange, 20 * kMiB, 0x11);
    job.block_free(kRange, 20 * kMiB, 0, 20 * kMiB);
    const Accounts awake = accounts_of(job);
    CHECK(table(awake).all.reserved.bytes == Gauge{20 * kMiB, 20 * kMiB, 20 * kMiB, 0});
    CHECK(table(awake).state.reserved.differing == 0);
    CHECK(table(awake).state.allocated.differing == 0);
}

TEST_CASE("a refused free of a segment leaves the table as it was", "[accounts][blocks]") {
    EventBuilder job;
    job.device_alloc(kLarge, 20 * kMiB);
    job.block_alloc(kLarge, 4 * kMiB);
    const BlockTable before = table(accounts_of(job));
    const uint64_t ticket = job.device_free(kLarge);
    job.free_failed(ticket, 1);
    const BlockTable after = table(accounts_of(job));
    CHECK(before.all.allocated == after.all.allocated);
    CHECK(before.all.reserved == after.all.reserved);
    CHECK(before.all.split.bytes == after.all.split.bytes);
}

TEST_CASE("retries are refused calls after which the allocator asked again", "[accounts][blocks]") {
    EventBuilder job;
    job.thread(5);
    job.device_alloc(kLarge, 20 * kMiB);
    job.block_alloc(kLarge, 4 * kMiB);
    job.block_free(kLarge);
    SECTION("and got it") {
        job.call_failed(E::DeviceAlloc, 40 * kMiB);
        job.device_free(kLarge);
        job.device_alloc(kLarge, 40 * kMiB);
        job.block_alloc(kLarge, 30 * kMiB);
        CHECK(table(accounts_of(job)).retries == 1);
        CHECK(table(accounts_of(job)).out_of_memory == 0);
    }
    SECTION("and failed again") {
        job.call_failed(E::DeviceAlloc, 40 * kMiB);
        job.device_free(kLarge);
        job.call_failed(E::DeviceAlloc, 40 * kMiB);
        job.framework_out_of_memory(30 * kMiB, 0, 0);
        CHECK(table(accounts_of(job)).retries == 1);
        CHECK(table(accounts_of(job)).out_of_memory == 1);
    }
    SECTION("in pieces of an expandable segment") {
        job.address(E::AddressReserve, kRange, 1024 * kMiB);
        job.call_failed(E::PhysicalCreate, 20 * kMiB);
        for (uint64_t i = 0; i < 2; ++i) {
            job.physical_create(0x10 + i, 20 * kMiB);
            job.map(kRange + i * 20 * kMiB, 20 * kMiB, 0x10 + i);
        }
        job.block_alloc(kRange, 40 * kMiB);
        CHECK(table(accounts_of(job)).retries == 1);
    }
    SECTION("not the program's own, not another thread's, not without a driver call") {
        job.call_failed(E::DeviceAlloc, 40 * kMiB);
        job.block_alloc(kLarge, 4 * kMiB);  // cached: the refused call was not for it
        job.framework_out_of_memory(30 * kMiB);
        job.call_failed(E::DeviceAlloc, 40 * kMiB);
        job.thread(6).framework_out_of_memory(30 * kMiB);
        CHECK(table(accounts_of(job)).retries == 0);
        CHECK(table(accounts_of(job)).out_of_memory == 2);
    }
}

TEST_CASE("host pools have a table of their own", "[accounts][blocks]") {
    EventBuilder job;
    job.host_alloc(0x100000, 16 * kMiB);
    job.device_alloc(kLarge, 256 * kMiB);
    job.device(trace::kNoDevice);
    job.block_alloc(0x100000, 4096);
    job.block_alloc(kLarge, 1024);
    const Accounts numbers = accounts_of(job);
    REQUIRE(numbers.blocks.size() == 2);
    CHECK(numbers.blocks[0].device == 0);
    CHECK(numbers.blocks[0].all.allocated.bytes.current == 1024);
    CHECK_FALSE(numbers.blocks[0].state.device_said);
    CHECK(numbers.blocks[1].device == trace::kNoDevice);
    CHECK(numbers.blocks[1].all.allocated.bytes.current == 4096);
    CHECK(numbers.blocks[1].all.reserved.bytes.current == 16 * kMiB);
}

TEST_CASE("contexts that end at exit leave the table and the tensors as they were", "[accounts][blocks]") {
    EventBuilder job;
    job.object(E::PrimaryRetain, 0xc);
    job.stack(7).device_alloc(kLarge, 20 * kMiB);
    job.stack(8).block_alloc(kLarge, 4 * kMiB);
    job.stack(9).block_alloc(kLarge + 4 * kMiB, kMiB);
    job.object(E::PrimaryRelease, 0xc);
    job.block_free(kLarge);  // a destructor that ran too late
    const Accounts numbers = accounts_of(job);
    REQUIRE(numbers.exit);
    CHECK(table(numbers).all.allocated.count.current == 2);
    CHECK(table(numbers).state.orphaned_count == 0);
    CHECK(numbers.late_frees == 1);
    CHECK(test::site_at(numbers, 9).left.bytes == kMiB);
    CHECK(test::site_at(numbers, 8).left.bytes == 0);
    CHECK(test::site_at(numbers, 7).left.bytes == 20 * kMiB);
    REQUIRE(numbers.devices.at(0).segments);
    CHECK(numbers.devices.at(0).segments->large.live == 5 * kMiB);
    for (const accounts::Leak& leak : numbers.leaks) {
        const bool segment = numbers.sites[leak.site].key.stack == 7;
        CHECK(leak.segments.bytes == (segment ? 20 * kMiB : 0));
    }
}

TEST_CASE("a job without blocks has no table", "[accounts][blocks]") {
    EventBuilder job;
    job.device_alloc(kLarge, 20 * kMiB);
    CHECK(accounts_of(job).blocks.empty());
    CHECK_FALSE(accounts_of(job).devices.at(0).segments);
}
