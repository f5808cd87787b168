// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/refused_releases.h"

#include "tests/unit/analyzer/accounts/read_accounts.h"

using namespace vramtrace;
using accounts::Accounts;
using test::accounts_of;
using test::EventBuilder;
using trace::EventKind;

TEST_CASE("refused releases are told by call site and answer", "[accounts][refused]") {
    EventBuilder job;
    job.device_alloc(0x1000, 100);
    for (int i = 0; i < 3; ++i) {
        const uint64_t ticket = job.stack(7).device_free(0x1008);
        const auto kind = static_cast<uint64_t>(EventKind::DeviceFree);
        job.stack(0).add(EventKind::FreeFailed, {0x1008, ticket, 0, kind, 1});
    }
    job.free_failed(job.stack(8).device_free(0x1000), 400);  // refused although it is live
    job.free_failed(job.stack(8).device_free(0x1000), 1);
    const Accounts numbers = accounts_of(job);
    CHECK(numbers.refused_releases_total == 5);
    REQUIRE(numbers.refused_releases.size() == 3);
    const accounts::RefusedRelease& often = numbers.refused_releases[0];
    CHECK(often.key.stack == 7);
    CHECK(often.count == 3);
    CHECK(often.result == 1);
    CHECK(often.example_address == 0x1008);
    CHECK(numbers.failures_total == 0);
    CHECK(numbers.total(0, accounts::Quantity::Device)->live.bytes == 100);
}

TEST_CASE("a refusal because the context is gone is none of the program's doing", "[accounts][refused]") {
    EventBuilder job;
    job.device_alloc(0x1000, 100);
    constexpr uint16_t kDeinitialized = 4;
    job.free_failed(job.device_free(0x1000), kDeinitialized);
    CHECK(accounts_of(job).refused_releases_total == 0);
}
