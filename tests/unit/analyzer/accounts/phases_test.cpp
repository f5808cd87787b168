// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/phases.h"

#include <map>
#include <random>
#include <set>

#include "analyzer/accounts/phase_cut.h"
#include "tests/unit/analyzer/accounts/random_job.h"
#include "tests/unit/analyzer/accounts/read_accounts.h"

using namespace vramtrace;
using accounts::Accountant;
using accounts::AccountantOptions;
using accounts::Accounts;
using accounts::Amount;
using accounts::Kind;
using accounts::Phase;
using accounts::PhaseAmounts;
using accounts::PhaseOccurrence;
using accounts::PhaseSum;
using accounts::Quantity;
using test::EventBuilder;
using trace::Event;
using trace::EventKind;

namespace {

// Names are their number.
std::string_view text_of(uint32_t id) {
    static std::map<uint32_t, std::string> texts;
    std::string& text = texts[id];
    if (text.empty()) text = "p" + std::to_string(id);
    return text;
}

uint64_t push(EventBuilder& job, uint64_t name, uint64_t id = 0, uint64_t domain = 0, bool nvtx = false) {
    return job.add(EventKind::RangeBegin, {domain, nvtx ? 1U : 0U, id, name, 0});
}
uint64_t pop(EventBuilder& job, uint64_t id = 0, uint64_t domain = 0, bool nvtx = false) {
    return job.add(EventKind::RangeEnd, {domain, nvtx ? 1U : 0U, id, 0, 0});
}

Accounts accounts_of(const std::vector<Event>& events, const std::optional<std::string>& phase = std::nullopt) {
    Accountant accountant({text_of, phase});
    accountant.add(events);
    accountant.finish({});
    return accountant.accounts();
}

const Phase& phase_of(const Accounts& numbers, const std::string& path) {
    for (const Phase& phase : numbers.phases.phases) {
        if (phase.path == path) return phase;
    }
    FAIL("no phase " << path);
    return numbers.phases.phases.front();
}

const PhaseSum& sum_of(const Phase& phase, Quantity quantity = Quantity::Device, uint8_t device = 0) {
    for (const PhaseSum& sum : phase.sums) {
        if (sum.quantity == quantity && sum.device == device) return sum;
    }
    FAIL("no sum in " << phase.path);
    return phase.sums.front();
}

// What ranges did, by brute force: every range keeps the whole story, nothing is shared.
struct Naive {
    struct Thing {
        uint64_t bytes, born;
    };
    struct Range {
        std::string path;
        uint32_t thread;
        uint64_t id, domain, begin;
        bool nvtx;
        uint64_t live_begin, peak;
        Amount allocated, freed;
    };
    struct Sum {
        uint64_t count = 0;
        int64_t change = 0;
        uint64_t peak = 0, rise = 0;
        Amount allocated, freed, survivors;
    };
    std::vector<Range> open;
    std::map<std::string, Sum> sums;
    std::map<uint64_t, Thing> live;
    uint64_t unmatched = 0;

    uint64_t bytes() const {
        uint64_t sum = 0;
        for (const auto& [address, thing] : live) sum += thing.bytes;
        return sum;
    }
    void close(const Range& range) {
        Sum& sum = sums[range.path];
        ++sum.count;
        sum.change += static_cast<int64_t>(bytes()) - static_cast<int64_t>(range.live_begin);
        sum.peak = std::max(sum.peak, range.peak);
        sum.rise = std::max(sum.rise, range.peak - range.live_begin);
        sum.allocated.count += range.allocated.count, sum.allocated.bytes += range.allocated.bytes;
        sum.freed.count += range.freed.count, sum.freed.bytes += range.freed.bytes;
        for (const auto& [address, thing] : live) {
            if (thing.born > range.begin) sum.survivors.add(thing.bytes);
        }
    }
    void see(const Event& event) {
        if (event.kind == EventKind::DeviceAlloc) {
            live[event.address] = {event.size, event.sequence};
            for (Range& range : open) range.allocated.add(event.size), range.peak = std::max(range.peak, bytes());
        } else if (event.kind == EventKind::DeviceFree) {
            const uint64_t freed = live.at(event.address).bytes;
            live.erase(event.address);
            for (Range& range : open) range.freed.add(freed);
        } else if (event.kind == EventKind::RangeBegin) {
            std::string path;
            for (const Range& range : open) {
                if (event.object == 0 && range.id == 0 && range.thread == event.thread) path = range.path + "/";
            }
            path += text_of(static_cast<uint32_t>(event.aux));
            open.push_back({path,
                            event.thread,
                            event.object,
                            event.address,
                            event.sequence,
                            event.size == 1,
                            bytes(),
                            bytes(),
                            {},
                            {}});
        } else if (event.kind == EventKind::RangeEnd) {
            for (size_t i = open.size(); i-- > 0;) {
                const Range& range = open[i];
                if (range.id != event.object || range.nvtx != (event.size == 1)) continue;
                if (range.id == 0 && (range.thread != event.thread || range.domain != event.address)) continue;
                close(range);
                open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
                return;
            }
            ++unmatched;
        }
    }
};

}  // namespace

TEST_CASE("nested phases, and what is born in each", "[phases]") {
    EventBuilder job;
    job.device_alloc(0x1000, 100);
    push(job, 1);
    job.device_alloc(0x2000, 50);
    push(job, 2);
    job.thread(9).device_alloc(0x3000, 7);  // another thread's counts too
    job.thread(1).device_free(0x1000);
    pop(job);
    job.device_free(0x2000);
    pop(job);
    job.device_alloc(0x4000, 9);
    const Accounts numbers = accounts_of(job.events());
    REQUIRE(numbers.phases.phases.size() == 2);
    const PhaseSum& outer = sum_of(phase_of(numbers, "p1"));
    CHECK(outer.allocated == Amount{2, 57});
    CHECK(outer.freed == Amount{2, 150});
    CHECK(outer.survivors == Amount{1, 7});
    CHECK(outer.left == Amount{1, 7});
    CHECK(outer.change == -93);
    CHECK(outer.peak == 157);
    CHECK(outer.rise == 57);
    const PhaseSum& inner = sum_of(phase_of(numbers, "p1/p2"));
    CHECK(inner.allocated == Amount{1, 7});
    CHECK(inner.change == -93);
    CHECK(phase_of(numbers, "p1/p2").depth == 1);
}

TEST_CASE("a refused free is no free of the phase", "[phases]") {
    EventBuilder job;
    push(job, 1);
    job.device_alloc(0x1000, 100);
    const uint64_t ticket = job.device_free(0x1000);
    job.free_failed(ticket, 1);
    pop(job);
    const Accounts numbers = accounts_of(job.events());
    const PhaseSum& sum = sum_of(phase_of(numbers, "p1"));
    CHECK(sum.freed == Amount{0, 0});
    CHECK(sum.survivors == Amount{1, 100});
    CHECK(sum.left == Amount{1, 100});
}

TEST_CASE("ends without a beginning are counted, open ranges measured to the end", "[phases]") {
    EventBuilder job;
    pop(job);
    pop(job, 7);
    push(job, 1);
    job.thread(2);
    pop(job);  // of another thread: no end of thread 1's range
    job.thread(1);
    pop(job, 0, 0, true);  // NVTX's does not end a marker's
    job.device_alloc(0x1000, 5);
    const Accounts numbers = accounts_of(job.events());
    CHECK(numbers.phases.unmatched_ends == 4);
    const Phase& phase = phase_of(numbers, "p1");
    CHECK(phase.open == 1);
    CHECK(phase.kept.at(0).open);
    CHECK(sum_of(phase).allocated == Amount{1, 5});
}

TEST_CASE("ranges cost bounded memory, and every one is counted", "[phases]") {
    EventBuilder job;
    for (uint64_t i = 0; i < 10000; ++i) {
        push(job, 1);
        push(job, 1000 + i);
        pop(job);
        pop(job);
    }
    const Accounts numbers = accounts_of(job.events());
    CHECK(numbers.phases.phases.size() == accounts::kPhasePaths + 1);
    CHECK(phase_of(numbers, "p1").occurrences == 10000);
    CHECK(phase_of(numbers, "p1").kept.size() == 2 * accounts::kPhaseOccurrences);
    CHECK(phase_of(numbers, "p1").kept.back().number == 9999);
    CHECK(phase_of(numbers, accounts::kOtherPhases).occurrences == 10000 - accounts::kPhasePaths + 1);
    CHECK(numbers.phases.nameless == 10000 - accounts::kPhasePaths + 1);
}

TEST_CASE("too deep is not measured, and its ends still match", "[phases]") {
    EventBuilder job;
    for (int i = 0; i < 100; ++i) push(job, 1);
    job.device_alloc(0x1000, 3);
    for (int i = 0; i < 100; ++i) pop(job);
    push(job, 2);
    pop(job);
    const Accounts numbers = accounts_of(job.events());
    CHECK(numbers.phases.not_measured == 100 - accounts::kRangeDepth);
    CHECK(numbers.phases.unmatched_ends == 0);
    CHECK(phase_of(numbers, "p2").occurrences == 1);
    CHECK(sum_of(phase_of(numbers, "p1")).allocated == Amount{1, 3});
}

TEST_CASE("random ranges are measured as by brute force", "[phases]") {
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        std::mt19937_64 random(seed);
        EventBuilder job;
        std::vector<uint64_t> live, ids;
        uint64_t next = 0x1000;
        for (int i = 0; i < 800; ++i) {
            job.thread(static_cast<uint32_t>(1 + random() % 3));
            const bool nvtx = random() % 2 == 0;
            const uint64_t domain = nvtx ? random() % 2 : 0;
            switch (random() % 8) {
                case 0:
                case 1:
                    push(job, random() % 3, 0, domain, nvtx);
                    break;
                case 2:
                case 3:
                    pop(job, 0, domain, nvtx);
                    break;
                case 4:
                    if (random() % 3 == 0) {
                        ids.push_back(++next);
                        push(job, random() % 3, next, domain, nvtx);
                    } else if (!ids.empty()) {
                        pop(job, ids[random() % ids.size()], domain, nvtx);
                    }
                    break;
                case 5:
                case 6:
                    live.push_back(next += 0x1000);
                    job.device_alloc(next, 1 + random() % 900);
                    break;
                default:
                    if (live.empty()) break;
                    std::swap(live[random() % live.size()], live.back());
                    job.device_free(live.back());
                    live.pop_back();
            }
        }
        Naive truth;
        for (const Event& event : job.events()) truth.see(event);
        while (!truth.open.empty()) truth.close(truth.open.front()), truth.open.erase(truth.open.begin());
        const Accounts numbers = accounts_of(job.events());
        CHECK(numbers.phases.unmatched_ends == truth.unmatched);
        CHECK(numbers.phases.not_measured == 0);
        REQUIRE(numbers.phases.phases.size() == truth.sums.size());
        for (const auto& [path, expected] : truth.sums) {
            INFO("seed " << seed << " " << path);
            const Phase& phase = phase_of(numbers, path);
            CHECK(phase.occurrences == expected.count);
            if (phase.sums.empty()) {
                CHECK(expected.allocated.count + expected.peak == 0);
                continue;
            }
            const PhaseSum& sum = sum_of(phase);
            CHECK(sum.change == expected.change);
            CHECK(sum.peak == expected.peak);
            CHECK(sum.rise == expected.rise);
            CHECK(sum.allocated == expected.allocated);
            CHECK(sum.freed == expected.freed);
            CHECK(sum.survivors == expected.survivors);
        }
    }
}

TEST_CASE("names match by the end of the path, with wildcards", "[phases]") {
    using accounts::path_matches;
    CHECK(path_matches("step", "epoch/step"));
    CHECK(path_matches("epoch/step", "epoch/step"));
    CHECK(path_matches("epoch/*", "epoch/step/forward"));
    CHECK(path_matches("*", "anything"));
    CHECK(path_matches("for[w]ard", "step/forward"));
    CHECK(path_matches("[", "["));
    CHECK_FALSE(path_matches("step", "epoch/step/forward"));
    CHECK_FALSE(path_matches("tep", "epoch/step"));
    CHECK_FALSE(path_matches("epoch", "epoch/step"));
}

TEST_CASE("a phase around everything gives the numbers without one", "[phases][cut]") {
    for (uint64_t seed = 100; seed < 110; ++seed) {
        test::RandomJob random(seed);
        random.run(3000);
        // The same events inside a range: one more in front, so tickets move by one.
        std::vector<Event> plain(random.job.events());
        for (Event& event : plain) {
            ++event.sequence;
            if (event.kind == EventKind::FreeFailed) ++event.size;
        }
        std::vector<Event> inside(plain);
        Event begin;
        begin.kind = EventKind::RangeBegin;
        begin.sequence = 0;
        begin.time = plain.front().time;
        begin.aux = 1;
        begin.thread = 99;
        inside.insert(inside.begin(), begin);
        const Accounts whole = accounts_of(plain);
        const Accounts cut = accounts_of(inside, "p1");
        INFO("seed " << seed);
        REQUIRE(cut.cut);
        CHECK(cut.cut->windows == 1);
        REQUIRE(whole.totals.size() == cut.totals.size());
        for (size_t i = 0; i < whole.totals.size(); ++i) {
            const accounts::Total &a = whole.totals[i], &b = cut.totals[i];
            CHECK(a.live == b.live);
            CHECK(a.peak == b.peak);
            CHECK(a.peak_moment == b.peak_moment);
            CHECK(a.allocated == b.allocated);
            CHECK(a.ended == b.ended);
            CHECK(a.left == b.left);
            CHECK(whole.timelines[i].points.size() == cut.timelines[i].points.size());
        }
        REQUIRE(whole.sites.size() == cut.sites.size());
        for (size_t i = 0; i < whole.sites.size(); ++i) {
            const accounts::Site &a = whole.sites[i], &b = cut.sites[i];
            CHECK(a.key == b.key);
            CHECK(a.live == b.live);
            CHECK(a.allocated == b.allocated);
            CHECK(a.at_peak == b.at_peak);
            CHECK(a.ended == b.ended);
            CHECK(a.left == b.left);
            CHECK(a.churned == b.churned);
            CHECK(a.lifetime_sum == b.lifetime_sum);
            CHECK(a.failures == b.failures);
            CHECK(a.failures_recovered == b.failures_recovered);
        }
        REQUIRE(whole.leaks.size() == cut.leaks.size());
        for (size_t i = 0; i < whole.leaks.size(); ++i) {
            CHECK(whole.leaks[i].site == cut.leaks[i].site);
            CHECK(whole.leaks[i].live == cut.leaks[i].live);
        }
        REQUIRE(whole.handles.size() == cut.handles.size());
        for (size_t i = 0; i < whole.handles.size(); ++i) {
            CHECK(whole.handles[i].made == cut.handles[i].made);
            CHECK(whole.handles[i].most == cut.handles[i].most);
        }
        CHECK(whole.failures_total == cut.failures_total);
        CHECK(whole.failures_recovered == cut.failures_recovered);
        for (const auto& [device, instant] : whole.devices) {
            CHECK(instant.at_peak.used_bytes == cut.devices.at(device).at_peak.used_bytes);
        }
    }
}

TEST_CASE("a cut takes births from windows, the peak from all that is live in them", "[phases][cut]") {
    EventBuilder job;
    job.stack(1).device_alloc(0x1000, 1000);
    job.stack(2).device_alloc(0x2000, 500);  // the peak of the whole: 1500 and what follows
    job.device_alloc(0x9000, 600);
    job.device_free(0x9000);
    push(job, 1);  // 1500 live
    job.device_free(0x2000);
    job.stack(3).device_alloc(0x3000, 30);
    job.device_free(0x3000);
    pop(job);
    job.call_failed(EventKind::DeviceAlloc, 1 << 20);
    push(job, 1);
    job.stack(3).device_alloc(0x4000, 40);
    job.call_failed(EventKind::DeviceAlloc, 1 << 21);
    pop(job);
    job.stack(4).device_alloc(0x5000, 9000);
    const Accounts numbers = accounts_of(job.events(), "p1");
    CHECK(numbers.cut->ranges == 2);
    const accounts::Total* total = numbers.total(0, Quantity::Device);
    REQUIRE(total != nullptr);
    CHECK(total->allocated == Amount{2, 70});
    CHECK(total->live == Amount{1, 40});
    CHECK(total->left == Amount{1, 40});
    CHECK(total->peak == Amount{2, 1500});  // when the window opened
    CHECK(test::site_at(numbers, 1).at_peak == Amount{1, 1000});
    CHECK(test::site_at(numbers, 1).allocated == Amount{0, 0});
    CHECK(test::site_at(numbers, 2).at_peak == Amount{1, 500});
    CHECK(test::site_at(numbers, 3).allocated == Amount{2, 70});
    CHECK(test::site_at(numbers, 3).left == Amount{1, 40});
    CHECK(numbers.failures_total == 1);
    CHECK(numbers.failures.at(0).bytes == 1 << 21);
    CHECK(numbers.failures.at(0).live_device == 1040);
    REQUIRE(numbers.leaks.size() == 1);
    CHECK(numbers.leaks[0].live == Amount{1, 40});
}

TEST_CASE("stopped by the program's wish is no end of judgement", "[phases]") {
    EventBuilder job;
    job.device_alloc(0x1000, 5);
    job.add(EventKind::RecordingStopped, {0, 1, 0, 7, 0});
    job.device_free(0x1000);
    const Accounts off = accounts_of(job.events());
    CHECK_FALSE(off.stopped);
    CHECK(off.paused);
    CHECK(off.notes.empty());
    job.add(EventKind::RecordingStarted, {0, 1, 0, 0, 0});
    const Accounts on = accounts_of(job.events());
    CHECK_FALSE(on.paused);
    CHECK(on.pauses == 1);
}
