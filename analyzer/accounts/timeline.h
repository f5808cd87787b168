// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/accounts/accounts.h"

namespace vramtrace::accounts {

// Live bytes over time in bounded room: when the intervals no longer fit, two become one. Extrema stay exact because the
// extrema of two neighbours are those of both together; nothing depends on how events were batched.
class TimelineRecorder {
public:
    void record(uint64_t time, uint64_t before, uint64_t after);
    Timeline timeline(uint8_t device, Quantity quantity) const;

private:
    struct Point {
        uint64_t index = 0;  // of the interval
        uint64_t low = 0, high = 0, last = 0;
    };
    void coarsen();

    static constexpr uint64_t kFirstInterval = 1024;  // ns
    uint64_t start_ = 0;
    uint64_t interval_ = kFirstInterval;
    uint64_t last_time_ = 0;
    std::vector<Point> points_;
};

}  // namespace vramtrace::accounts
