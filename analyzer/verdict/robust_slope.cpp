// SPDX-License-Identifier: Apache-2.0
#include "analyzer/verdict/robust_slope.h"

#include <algorithm>
#include <vector>

namespace vramtrace::verdict {

Slope robust_slope(std::span<const uint64_t> values) {
    const size_t count = values.size();
    if (count < 2) return {};
    std::vector<double> slopes;
    slopes.reserve(count * (count - 1) / 2);
    for (size_t i = 0; i < count; ++i) {
        for (size_t j = i + 1; j < count; ++j) {
            const double rise = static_cast<double>(values[j]) - static_cast<double>(values[i]);
            slopes.push_back(rise / static_cast<double>(j - i));
        }
    }
    const auto middle = slopes.begin() + static_cast<ptrdiff_t>(slopes.size() / 2);
    std::nth_element(slopes.begin(), middle, slopes.end());
    Slope slope;
    slope.per_step = *middle;
    size_t rising = 0, climbed = 0;
    for (size_t i = 1; i < count; ++i) {
        rising += values[i] >= values[i - 1];
        climbed += values[i] > values[i - 1];
    }
    slope.rising = static_cast<double>(rising) / static_cast<double>(count - 1);
    slope.climbed = static_cast<double>(climbed) / static_cast<double>(count - 1);
    return slope;
}

}  // namespace vramtrace::verdict
