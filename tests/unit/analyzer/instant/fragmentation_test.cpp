// SPDX-License-Identifier: Apache-2.0
#include "analyzer/instant/fragmentation.h"

#include <random>

#include "tests/support/catch.h"

using namespace vramtrace::instant;

TEST_CASE("ratios of the worked example", "[instant][fragmentation]") {
    const std::vector<uint64_t> holes = {4, 8, 1};
    CHECK(*largest_hole_ratio(holes) == Approx(1 - 8.0 / 13));
    CHECK(*largest_hole_ratio(holes) == Approx(0.385).margin(0.0005));
    CHECK(*hole_dispersion(holes) == Approx(1 - 81.0 / 169));
    CHECK(*hole_dispersion(holes) == Approx(0.521).margin(0.0005));
    CHECK(*unused_share(9, 54) == Approx(0.833).margin(0.0005));
    CHECK(*unused_share(41, 54) == Approx(0.241).margin(0.0005));
}

TEST_CASE("ratios say nothing where they are not defined", "[instant][fragmentation]") {
    const std::vector<uint64_t> one = {5};
    CHECK(*largest_hole_ratio(one) == 0);
    CHECK(*hole_dispersion(one) == 0);
    CHECK_FALSE(largest_hole_ratio({}));
    CHECK_FALSE(hole_dispersion({}));
    CHECK_FALSE(unused_share(0, 0));
    CHECK_FALSE(mean_overhead({}, {}));
}

TEST_CASE("the worked example in segments and blocks", "[instant][fragmentation]") {
    // Tenths of a MiB. Device 100 MiB, driver free 36, not traced 10.
    const std::vector<std::vector<Block>> segments = {
        {{60, 55, BlockState::Live}, {40, 0, BlockState::Free}, {20, 20, BlockState::Live}, {80, 0, BlockState::Free}},
        {{10, 9, BlockState::Live}, {10, 0, BlockState::Free}},
        {{320, 0, BlockState::Pending}},
    };
    const SegmentSummary sum = summarize_segments(segments, 360);
    CHECK(sum.reserved == 540);
    CHECK(sum.live == 90);
    CHECK(sum.live + sum.pending == 410);
    CHECK(sum.requested == 84);
    CHECK(sum.internal == 6);
    CHECK(sum.holes == std::vector<uint64_t>{40, 80, 10});
    CHECK(sum.releasable == 0);
    CHECK(sum.largest_hole == 80);
    CHECK(sum.largest_allocatable == 360);
    CHECK(sum.largest_after_release == 360);
    CHECK(sum.largest_after_pending == 680);
    // A request of 40 MiB: waiting for the stream serves it, fragmentation is not the cause, though 49 ≥ 40 are free.
    CHECK(sum.largest_after_release < 400);
    CHECK(sum.largest_after_pending >= 400);
    CHECK(130 + 360 >= 400);
    // 8.4 + 0.6 + 32 + 13 + 10 + 36 = 100
    CHECK(sum.requested + sum.internal + sum.pending + 130 + 100 + 360 == 1000);
}

TEST_CASE("neighbouring free blocks are one hole, wholly free segments none", "[instant][fragmentation]") {
    const std::vector<std::vector<Block>> segments = {
        {{8, 8, BlockState::Live}, {4, 0, BlockState::Free}, {4, 0, BlockState::Free}},
        {{16, 0, BlockState::Free}, {16, 0, BlockState::Free}},
    };
    const SegmentSummary sum = summarize_segments(segments, 10);
    CHECK(sum.holes == std::vector<uint64_t>{8});
    CHECK(sum.releasable == 32);
    CHECK(sum.largest_hole == 32);
    CHECK(sum.largest_allocatable == 32);
    CHECK(sum.largest_after_release == 42);
}

TEST_CASE("reserved over live, as Johnstone and Wilson measure it", "[instant][fragmentation]") {
    const std::vector<uint64_t> live = {4, 10, 6, 2, 8};
    const std::vector<uint64_t> reserved = {4, 12, 14, 14, 14};
    CHECK(*mean_overhead(live, reserved) == Approx(2.657).margin(0.0005));
    CHECK(12.0 / 10 == Approx(1.20));  // at most live
    CHECK(1 / (1 - *peak_ratio(10, 14)) == Approx(1.40));
    CHECK(*peak_ratio(10, 14) == Approx(0.286).margin(0.0005));
}

TEST_CASE("holes are what no run covers", "[instant][fragmentation]") {
    CHECK(holes_in({{100, 50}}, {}) == std::vector<Run>{{100, 50}});
    CHECK(holes_in({{100, 50}}, {{100, 50}}).empty());
    CHECK(holes_in({{100, 50}}, {{120, 10}}) == std::vector<Run>{{100, 20}, {130, 20}});
    CHECK(holes_in({{100, 50}, {150, 50}}, {{140, 20}}) == std::vector<Run>{{100, 40}, {160, 40}});
    CHECK(holes_in({{300, 10}, {100, 50}}, {{90, 20}, {140, 100}}) == std::vector<Run>{{110, 30}, {300, 10}});
}

TEST_CASE("holes against a bitmap", "[instant][fragmentation]") {
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        constexpr uint64_t kSpace = 256;
        std::vector<Run> areas, taken;
        std::vector<int> area_of(kSpace, -1);
        std::vector<bool> used(kSpace);
        for (uint64_t at = random() % 20; at < kSpace - 40;) {
            const uint64_t size = 1 + random() % 39;
            for (uint64_t i = at; i < at + size; ++i) area_of[i] = static_cast<int>(areas.size());
            areas.push_back({at, size});
            at += size + random() % 2 * (random() % 20);
        }
        for (unsigned i = random() % 12; i > 0; --i) {
            const uint64_t at = random() % (kSpace - 30);
            const uint64_t size = 1 + random() % 30;
            for (uint64_t j = at; j < at + size; ++j) used[j] = true;
            taken.push_back({at, size});
        }
        std::vector<Run> expected;
        for (uint64_t i = 0; i < kSpace; ++i) {
            if (area_of[i] < 0 || used[i]) continue;
            const bool goes_on = i > 0 && area_of[i - 1] == area_of[i] && !used[i - 1];
            goes_on ? void(++expected.back().bytes) : expected.push_back({i, 1});
        }
        REQUIRE(holes_in(areas, taken) == expected);
    }
}
