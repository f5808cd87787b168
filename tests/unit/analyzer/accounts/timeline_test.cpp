// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/timeline.h"

#include <algorithm>
#include <random>

#include "tests/support/catch.h"

using namespace vramtrace::accounts;

TEST_CASE("a timeline is bounded and its extrema are exact in every interval", "[accounts][timeline]") {
    std::mt19937_64 random(GENERATE(1, 2, 3));
    TimelineRecorder recorder;
    struct Step {
        uint64_t time, before, after;
    };
    std::vector<Step> steps;
    uint64_t time = 1'000'000, value = 0;
    for (int i = 0; i < 50'000; ++i) {
        time += random() % 100 == 0 ? random() % 10'000'000 : random() % 2000;
        const uint64_t after = random() % 50 == 0 ? random() % 1'000'000 : value + random() % 3;
        steps.push_back({time, value, after});
        recorder.record(time, value, after);
        value = after;
    }
    const Timeline timeline = recorder.timeline(0, Quantity::Device);
    REQUIRE(timeline.points.size() <= kTimelinePoints);
    REQUIRE(timeline.points.size() > kTimelinePoints / 8);
    size_t step = 0;
    for (const TimelinePoint& point : timeline.points) {
        REQUIRE(point.end - point.begin == timeline.interval);
        REQUIRE(steps[step].time >= point.begin);
        uint64_t low = steps[step].before, high = low, last = low;
        for (; step < steps.size() && steps[step].time < point.end; ++step) {
            low = std::min(low, steps[step].after);
            high = std::max(high, steps[step].after);
            last = steps[step].after;
        }
        REQUIRE(point.low == low);
        REQUIRE(point.high == high);
        REQUIRE(point.last == last);
    }
    CHECK(step == steps.size());
}

TEST_CASE("times slightly out of order are taken as the latest seen", "[accounts][timeline]") {
    TimelineRecorder recorder;
    recorder.record(5000, 0, 1);
    recorder.record(4000, 1, 2);
    recorder.record(9000, 2, 3);
    const Timeline timeline = recorder.timeline(0, Quantity::Device);
    REQUIRE(timeline.points.size() == 2);
    CHECK(timeline.points[0].high == 2);
    CHECK(timeline.points[1].last == 3);
}

TEST_CASE("a damaged time far away does not hang or grow the timeline", "[accounts][timeline]") {
    TimelineRecorder recorder;
    recorder.record(1, 0, 1);
    recorder.record(UINT64_MAX, 1, 2);
    recorder.record(5, 2, 0);
    CHECK(recorder.timeline(0, Quantity::Device).points.size() == 2);
}
