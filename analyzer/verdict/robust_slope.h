// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace vramtrace::verdict {

struct Slope {
    double per_step = 0;  // median of the slopes of all pairs of points (Theil–Sen)
    double rising = 0;    // share of steps from one point to the next that do not fall
    double climbed = 0;   // share of steps that rise
};

// Of values at 0, 1, 2, …; all zero for less than two points. Outliers below 29 % of the points do not move it.
Slope robust_slope(std::span<const uint64_t> values);

}  // namespace vramtrace::verdict
