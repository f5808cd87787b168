// SPDX-License-Identifier: Apache-2.0
#include "analyzer/verdict/robust_slope.h"

#include <vector>

#include "tests/support/catch.h"

using vramtrace::verdict::robust_slope;

TEST_CASE("a line's slope, with outliers and without", "[verdict]") {
    std::vector<uint64_t> line;
    for (uint64_t i = 0; i < 40; ++i) line.push_back(1000 + 20 * i);
    CHECK(robust_slope(line).per_step == 20.0);
    CHECK(robust_slope(line).rising == 1.0);
    line[7] = 90000;
    line[20] = 0;
    line[21] = 5;
    CHECK(robust_slope(line).per_step == Approx(20.0).margin(0.5));
}

TEST_CASE("flat, falling and stepped lines", "[verdict]") {
    CHECK(robust_slope(std::vector<uint64_t>(30, 7)).per_step == 0.0);
    std::vector<uint64_t> once(30, 7);
    for (size_t i = 25; i < 30; ++i) once[i] = 8;  // one step near the end is no slope
    CHECK(robust_slope(once).per_step == 0.0);
    CHECK(robust_slope(std::vector<uint64_t>{5, 4, 3, 2}).per_step == -1.0);
    CHECK(robust_slope(std::vector<uint64_t>{5}).per_step == 0.0);
    CHECK(robust_slope({}).rising == 0.0);
}
