// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/timeline.h"

#include <algorithm>

namespace vramtrace::accounts {

void TimelineRecorder::record(uint64_t time, uint64_t before, uint64_t after) {
    if (points_.empty()) start_ = last_time_ = time;
    // Threads take their time before their ticket: a little out of order is normal.
    time = std::max(time, last_time_);
    last_time_ = time;
    while ((time - start_) / interval_ >= kTimelinePoints) coarsen();
    const uint64_t index = (time - start_) / interval_;
    if (points_.empty() || points_.back().index != index) points_.push_back({index, before, before, before});
    Point& point = points_.back();
    point.low = std::min(point.low, after);
    point.high = std::max(point.high, after);
    point.last = after;
}

void TimelineRecorder::coarsen() {
    interval_ *= 2;
    size_t kept = 0;
    for (size_t i = 0; i < points_.size(); ++i) {
        Point point = points_[i];
        point.index /= 2;
        if (kept > 0 && points_[kept - 1].index == point.index) {
            Point& first = points_[kept - 1];
            first.low = std::min(first.low, point.low);
            first.high = std::max(first.high, point.high);
            first.last = point.last;
        } else {
            points_[kept++] = point;
        }
    }
    points_.resize(kept);
}

Timeline TimelineRecorder::timeline(uint8_t device, Quantity quantity) const {
    Timeline out;
    out.device = device;
    out.quantity = quantity;
    out.interval = interval_;
    out.points.reserve(points_.size());
    for (const Point& point : points_) {
        const uint64_t begin = start_ + point.index * interval_;
        out.points.push_back({begin, begin + interval_, point.low, point.high, point.last});
    }
    return out;
}

}  // namespace vramtrace::accounts
