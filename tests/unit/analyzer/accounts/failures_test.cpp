// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/failures.h"

#include "tests/unit/analyzer/accounts/read_accounts.h"

using namespace vramtrace;
using accounts::Accounts;
using accounts::Amount;
using accounts::Quantity;
using test::accounts_of;
using test::EventBuilder;
using test::site_at;
using trace::EventKind;

TEST_CASE("refused calls keep the state of their instant", "[accounts][failures]") {
    EventBuilder job;
    job.device_alloc(0x1000, 100);
    job.memory_info(500, 1000);
    job.stack(5).call_failed(EventKind::DeviceAlloc, 4096);
    SECTION("given up") {
        const Accounts numbers = accounts_of(job);
        REQUIRE(numbers.failures.size() == 1);
        const accounts::Failure& failure = numbers.failures[0];
        CHECK(failure.result == 2);
        CHECK(failure.bytes == 4096);
        CHECK(failure.live_device == 100);
        CHECK(failure.free_bytes == 500U);
        CHECK_FALSE(failure.recovered);
        CHECK(numbers.sites[failure.site].key.stack == 5);
        CHECK(numbers.sites[failure.site].failures == 1);
        CHECK(numbers.total(0, Quantity::Device)->allocated == Amount{1, 100});
    }
    SECTION("served after making room, from another place") {
        job.device_free(0x1000);
        job.thread(2).device_alloc(0x5000, 4096);  // another thread's success says nothing
        job.thread(1).device_alloc(0x6000, 4095);  // nor does another size
        CHECK(accounts_of(job).failures_recovered == 0);
        const uint64_t ticket = job.stack(6).device_alloc(0x7000, 4096);
        const Accounts numbers = accounts_of(job);
        CHECK(numbers.failures_recovered == 1);
        CHECK(numbers.failures[0].recovered->ticket == ticket);
        CHECK(site_at(numbers, 5).failures_recovered == 1);
    }
    SECTION("a sample just after it is nearer than one long before") {
        job.wait(1000).memory_info(3, 1000);
        CHECK(accounts_of(job).failures[0].free_bytes == 500U);  // 1 µs before is nearer than 2 µs after
        EventBuilder later;
        later.memory_info(500, 1000);
        later.wait(1'000'000).call_failed(EventKind::DeviceAlloc, 4096);
        later.memory_info(3, 1000);
        later.memory_info(4, 1000);
        CHECK(accounts_of(later).failures[0].free_bytes == 3U);
    }
}

TEST_CASE("a failure inside the runtime is served by the same call and size", "[accounts][failures]") {
    EventBuilder job;
    job.device(1).device_alloc(0x500, 9);
    job.label(4).device(trace::kNoDevice).add(EventKind::RuntimeFailed, {0, 64, 0, 0, 2});
    CHECK(accounts_of(job).failures[0].device == 1);  // where the thread was last
    CHECK(accounts_of(job).failures[0].live_device == 9);
    job.device(1).label(5).device_alloc(0x1000, 64);
    REQUIRE(accounts_of(job).failures_recovered == 0);
    CHECK(accounts_of(job).failures[0].runtime_only);
    job.label(4).device_alloc(0x2000, 64);
    CHECK(accounts_of(job).failures_recovered == 1);
}

TEST_CASE("many failures: the first and the last are kept, all are counted", "[accounts][failures]") {
    EventBuilder job;
    for (uint64_t i = 0; i < 1000; ++i) job.call_failed(EventKind::DeviceAlloc, i + 1);
    job.device_alloc(0x1000, 1000);
    const Accounts numbers = accounts_of(job);
    CHECK(numbers.failures_total == 1000);
    REQUIRE(numbers.failures.size() == accounts::kFirstFailures + accounts::kLastFailures);
    CHECK(numbers.failures.front().bytes == 1);
    CHECK(numbers.failures.back().bytes == 1000);
    CHECK(numbers.failures.back().recovered);
    CHECK(numbers.failures_recovered == 1);
}

TEST_CASE("a framework's out-of-memory is the upper layer of the call that was refused", "[accounts][failures]") {
    EventBuilder job;
    job.thread(3).stack(20);
    SECTION("attempt, retry, exception: one failure with two layers") {
        job.call_failed(EventBuilder::Kind::DeviceAlloc, 40 << 20);
        job.call_failed(EventBuilder::Kind::DeviceAlloc, 40 << 20);
        job.stack(21).framework_out_of_memory(39 << 20, 1000, 2000);
        const accounts::Accounts numbers = test::accounts_of(job);
        REQUIRE(numbers.failures.size() == 2);
        CHECK(numbers.failures_total == 2);
        CHECK(numbers.framework_failures == 1);
        CHECK(numbers.failures[0].earlier_attempt);
        CHECK_FALSE(numbers.failures[0].framework);
        REQUIRE(numbers.failures[1].framework);
        CHECK(numbers.failures[1].framework->bytes == 39 << 20);
        CHECK(numbers.failures[1].framework->allocated == 1000);
        CHECK(numbers.failures[1].framework->reserved == 2000);
        CHECK(numbers.sites[numbers.failures[1].framework->site].key.stack == 21);
        CHECK(numbers.sites[numbers.failures[1].site].key.stack == 20);
        CHECK_FALSE(numbers.failures[1].framework_only);
    }
    SECTION("without a refused call it stands alone, and recovers by a block of that size") {
        job.stack(21).framework_out_of_memory(512, 1000, 2000);
        job.device_alloc(0x1000000, 2 << 20);
        job.block_alloc(0x1000000, 512);
        const accounts::Accounts numbers = test::accounts_of(job);
        REQUIRE(numbers.failures.size() == 1);
        CHECK(numbers.failures[0].framework_only);
        CHECK(numbers.failures[0].bytes == 512);
        CHECK(numbers.failures[0].recovered);
        CHECK(test::site_at(numbers, 21).failures == 1);
    }
    SECTION("another thread's, a smaller one, or one before a block is not its lower layer") {
        job.thread(4).call_failed(EventBuilder::Kind::DeviceAlloc, 40 << 20);
        job.thread(3).call_failed(EventBuilder::Kind::DeviceAlloc, 1 << 20);
        job.framework_out_of_memory(39 << 20);
        job.device_alloc(0x1000000, 64 << 20);
        job.call_failed(EventBuilder::Kind::DeviceAlloc, 80 << 20);
        job.block_alloc(0x1000000, 512);
        job.framework_out_of_memory(39 << 20);
        const accounts::Accounts numbers = test::accounts_of(job);
        REQUIRE(numbers.failures.size() == 5);
        CHECK(numbers.failures[2].framework_only);
        CHECK(numbers.failures[4].framework_only);
        CHECK(numbers.framework_failures == 2);
    }
}
