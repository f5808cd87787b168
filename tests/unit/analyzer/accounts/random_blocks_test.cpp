// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/analyzer/accounts/random_blocks.h"

#include "tests/unit/analyzer/accounts/read_accounts.h"

using namespace vramtrace;
using accounts::Accounts;
using accounts::Amount;
using accounts::BlockPool;
using test::RandomBlocks;

namespace {

void check_pool(const BlockPool& ours, const BlockPool& truth) {
    CHECK(ours.allocated == truth.allocated);
    CHECK(ours.reserved == truth.reserved);
    CHECK(ours.split == truth.split);
}

void check_quantity(const RandomBlocks& framework, const Accounts& numbers, accounts::Quantity quantity) {
    const auto& peak = framework.truth.peaks.at({0, quantity});
    const accounts::Total* total = numbers.total(0, quantity);
    REQUIRE(total != nullptr);
    CHECK(total->live == framework.truth.totals.at({0, quantity}));
    CHECK(total->peak == peak.amount);
    CHECK(total->peak_moment.ticket == peak.ticket);
    for (const accounts::Site& site : numbers.sites) {
        if (site.quantity() != quantity) continue;
        const test::Truth::Site key{site.key.stack, site.key.kind, site.key.device};
        CHECK(site.allocated == framework.truth.allocated.at(key));
        const auto at_peak = peak.sites.find(key);
        CHECK(site.at_peak == (at_peak != peak.sites.end() ? at_peak->second : Amount{}));
        CHECK(site.left.bytes == site.live.bytes);
    }
}

}  // namespace

TEST_CASE("random frameworks: tables, totals and peaks are the truth", "[accounts][blocks][random]") {
    const uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6, 7, 8);
    const size_t length = GENERATE(100, 1000, 8000);
    RandomBlocks framework(seed);
    framework.run(length);
    if (length == 8000) {
        CHECK(framework.slept > 0);
        CHECK(framework.trimmed > 0);
        CHECK(framework.refused > 0);
        CHECK(framework.orphaned > 0);
    }
    const Accounts numbers = test::accounts_of(framework.job);
    REQUIRE(numbers.blocks.size() == 1);
    const accounts::BlockTable& table = numbers.blocks[0];
    check_pool(table.all, framework.all);
    check_pool(table.small, framework.small);
    check_pool(table.large, framework.large);
    CHECK(table.state.offloaded_bytes == framework.offloaded);
    CHECK(table.state.orphaned_count == framework.orphaned);
    CHECK(table.state.allocated.differing == 0);
    CHECK(table.state.reserved.differing == 0);
    CHECK(table.state.allocated.compared > 0);
    check_quantity(framework, numbers, accounts::Quantity::Block);
    check_quantity(framework, numbers, accounts::Quantity::Device);
    CHECK(numbers.oddities.lost_frees == 0);
    CHECK(numbers.oddities.unmatched_releases == framework.unmatched);
    CHECK(numbers.outside.allocated_count == framework.outside);
    REQUIRE(numbers.devices.at(0).segments);
    const instant::SegmentMap& map = *numbers.devices.at(0).segments;
    CHECK(map.all.live + table.state.offloaded_bytes == table.all.allocated.bytes.current);
    CHECK(map.all.reserved + table.offloaded_segment_bytes == table.all.reserved.bytes.current);
}
