// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/accountant.h"

#include "tests/support/catch.h"
#include "tests/support/vector_source.h"
#include "tests/unit/analyzer/accounts/random_job.h"

using namespace vramtrace;
using accounts::Accountant;
using accounts::Accounts;
using accounts::Amount;
using test::RandomJob;
using test::Truth;

namespace {

Accounts accounts_of(const std::vector<trace::Event>& events, size_t batch) {
    test::VectorSource source(events, batch);
    return accounts::account(source);
}

Truth::Site site_of(const accounts::Site& site) {
    return {site.key.stack, site.key.kind, site.key.device};
}

void check_against(const Truth& truth, const Accounts& numbers) {
    for (const auto& [account, amount] : truth.totals) {
        const accounts::Total* total = numbers.total(account.first, account.second);
        REQUIRE(total != nullptr);
        CHECK(total->live == amount);
        const Truth::Peak& peak = truth.peaks.at(account);
        CHECK(total->peak == peak.amount);
        CHECK(total->peak_moment.ticket == peak.ticket);

        // The peak's make-up: every site, exact.
        std::map<Truth::Site, Amount> at_peak, live;
        Amount sum;
        for (const accounts::Site& site : numbers.sites) {
            if (site.key.device != account.first || site.quantity() != account.second) continue;
            if (site.at_peak.count > 0) at_peak[site_of(site)] = site.at_peak;
            if (site.live.count > 0) live[site_of(site)] = site.live;
            sum.count += site.at_peak.count;
            sum.bytes += site.at_peak.bytes;
        }
        CHECK(sum == total->peak);
        std::map<Truth::Site, Amount> expected_peak = peak.sites, expected_live = truth.live.at(account);
        std::erase_if(expected_peak, [](const auto& entry) { return entry.second.count == 0; });
        std::erase_if(expected_live, [](const auto& entry) { return entry.second.count == 0; });
        CHECK(at_peak == expected_peak);
        CHECK(live == expected_live);
    }
    for (const accounts::Site& site : numbers.sites) {
        if (site.allocated.count == 0) continue;
        CHECK(site.allocated == truth.allocated.at(site_of(site)));
        Amount ended;
        for (const Amount& amount : site.ended) ended.count += amount.count, ended.bytes += amount.bytes;
        CHECK(ended.count + site.live.count == site.allocated.count);
        CHECK(ended.bytes + site.live.bytes == site.allocated.bytes);
        CHECK(site.own_peak.bytes >= site.at_peak.bytes);
    }
    for (const accounts::Leak& leak : numbers.leaks) CHECK(leak.live == numbers.sites[leak.site].live);
}

}  // namespace

TEST_CASE("random jobs: live, totals, peaks and their make-up are the truth", "[accounts][random]") {
    const uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6);
    RandomJob program(seed);
    program.run(seed == 1 ? 100'000 : 5'000);
    const Accounts numbers = accounts_of(program.job.events(), 1000);
    check_against(program.truth, numbers);
    CHECK(numbers.events == program.job.events().size());
    CHECK(numbers.oddities.unmatched_releases == program.unmatched);
    CHECK(numbers.oddities.lost_frees == program.lost);
    CHECK(numbers.oddities.refused_releases == program.refused);
    CHECK(numbers.oddities.context_lost == program.context_lost);
    CHECK(numbers.oddities.refused_unknown == 0);
    CHECK(numbers.oddities.unmatched_uses == 0);
    CHECK(numbers.failures_total == program.failed);
    CHECK(numbers.failures_recovered == program.recovered);
}

TEST_CASE("random jobs: every prefix is right, so every live view is", "[accounts][random]") {
    for (const size_t length : {10, 100, 500, 1000, 2000}) {
        RandomJob program(99);
        program.run(length);
        check_against(program.truth, accounts_of(program.job.events(), 7));
    }
}

TEST_CASE("how events are cut into batches changes nothing", "[accounts][random]") {
    RandomJob program(17);
    program.run(20'000);
    const Accounts one = accounts_of(program.job.events(), 1);
    for (const size_t batch : {3, 64, 1000, 1 << 20}) {
        const Accounts other = accounts_of(program.job.events(), batch);
        check_against(program.truth, other);
        REQUIRE(one.timelines.size() == other.timelines.size());
        for (size_t i = 0; i < one.timelines.size(); ++i) {
            REQUIRE(one.timelines[i].points.size() == other.timelines[i].points.size());
            for (size_t p = 0; p < one.timelines[i].points.size(); ++p) {
                const auto &a = one.timelines[i].points[p], &b = other.timelines[i].points[p];
                REQUIRE(std::tie(a.begin, a.end, a.low, a.high, a.last) ==
                        std::tie(b.begin, b.end, b.low, b.high, b.last));
            }
        }
        REQUIRE(one.leaks.size() == other.leaks.size());
        for (size_t i = 0; i < one.leaks.size(); ++i) {
            REQUIRE(one.leaks[i].site == other.leaks[i].site);
            REQUIRE(one.leaks[i].threads == other.leaks[i].threads);
            REQUIRE(one.leaks[i].example.id == other.leaks[i].example.id);
        }
        for (size_t i = 0; i < one.sites.size(); ++i) {
            REQUIRE(one.sites[i].lifetime_median == other.sites[i].lifetime_median);
            REQUIRE(one.sites[i].own_peak == other.sites[i].own_peak);
        }
    }
}

TEST_CASE("a live view in the middle changes nothing afterwards", "[accounts][random]") {
    RandomJob program(5);
    program.run(3'000);
    Accountant accountant;
    for (const trace::Event& event : program.job.events()) {
        accountant.add({&event, 1});
        if (event.sequence % 100 == 0) static_cast<void>(accountant.accounts());
    }
    CHECK_FALSE(accountant.accounts().finished);
    accountant.finish({});
    check_against(program.truth, accountant.accounts());
}

TEST_CASE("damaged events of any content are survived", "[accounts][random]") {
    std::mt19937_64 random(4);
    Accountant accountant;
    std::vector<trace::Event> events(20'000);
    for (size_t i = 0; i < events.size(); ++i) {
        trace::Event& event = events[i];
        const auto number = [&random]() -> uint64_t {
            switch (random() % 4) {
                case 0:
                    return random() % 8;
                case 1:
                    return UINT64_MAX - random() % 8;
                case 2:
                    return 0x7f0000000000 + (random() % 64 << 20);
                default:
                    return random();
            }
        };
        event.sequence = random() % 10 == 0 ? number() : i;
        event.time = random() % 10 == 0 ? number() : i * 100;
        event.address = number();
        event.size = random() % 3 == 0 ? i - random() % 5 : number();
        event.object = number();
        event.aux = number();
        event.stack = static_cast<uint32_t>(random() % 20);
        event.thread = static_cast<uint32_t>(random() % 5);
        event.kind = static_cast<trace::EventKind>(random() % 160);
        event.device = static_cast<uint8_t>(random() % 4 == 0 ? 255 : random() % 3);
        event.context = static_cast<uint16_t>(random() % 5);
        event.result = static_cast<uint16_t>(random() % 2 == 0 ? 1 : 709);
    }
    accountant.add(events);
    accountant.finish({});
    const Accounts numbers = accountant.accounts();
    CHECK(numbers.events == events.size());
    for (const accounts::Total& total : numbers.totals) {
        uint64_t count = 0;
        for (const accounts::Site& site : numbers.sites) {
            if (site.key.device == total.device && site.quantity() == total.quantity) count += site.live.count;
        }
        CHECK(count == total.live.count);
    }
}
