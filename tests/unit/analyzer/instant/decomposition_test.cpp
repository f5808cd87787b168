// SPDX-License-Identifier: Apache-2.0
#include "analyzer/instant/decomposition.h"

#include "tests/support/catch.h"

using namespace vramtrace::instant;

namespace {

int64_t sum(const Decomposition& parts) {
    int64_t total = 0;
    for (const Line& line : parts.lines) total += line.bytes;
    return total;
}

Inputs example() {
    Inputs in;
    in.device = 0;
    in.moment = {50, 5000};
    in.live_bytes = 700;
    in.footprint_bytes = 400;
    in.paged_live_bytes = 300;
    in.pools_sampled = true;
    in.pool_pending_bytes = 20;
    in.pool_unused_bytes = 30;
    return in;
}

}  // namespace

TEST_CASE("parts sum to the device", "[instant][decomposition]") {
    Inputs in = example();
    in.sample = Inputs::Sample{in.moment, 9000, 10000, in.tracked_bytes()};
    const Decomposition parts = decompose(in);
    CHECK(parts.measured);
    CHECK(parts.bytes(Part::LiveRequested) == 700);
    CHECK(parts.bytes(Part::DriverRounding) == 100);
    CHECK(parts.bytes(Part::PoolPending) == 20);
    CHECK(parts.bytes(Part::PoolUnused) == 30);
    CHECK(parts.bytes(Part::NotTraced) == 1000 - 850);
    CHECK(parts.bytes(Part::Free) == 9000);
    CHECK(sum(parts) == 10000);
    CHECK(parts.used_bytes == 1000);
    for (const Line& line : parts.lines) CHECK_FALSE(line.formula.empty());
}

TEST_CASE("what no call explains is carried over from the sample's own instant", "[instant][decomposition]") {
    Inputs in = example();
    in.sample = Inputs::Sample{{1, 10}, 9500, 10000, 100};  // taken when little was live: 400 not traced
    const Decomposition parts = decompose(in);
    CHECK(parts.bytes(Part::NotTraced) == 400);
    CHECK(parts.bytes(Part::Free) == 10000 - 850 - 400);
    CHECK(sum(parts) == 10000);
    CHECK(parts.lines.back().estimate);
}

TEST_CASE("more tracked than can be there shows as a negative rest", "[instant][decomposition]") {
    Inputs in = example();
    in.live_bytes = 20000;
    in.sample = Inputs::Sample{{1, 10}, 9500, 10000, 0};
    const Decomposition parts = decompose(in);
    CHECK(parts.bytes(Part::Free) == 0);
    CHECK(*parts.bytes(Part::NotTraced) < 0);
    CHECK(sum(parts) == 10000);
}

TEST_CASE("without a sample nothing is claimed of the rest", "[instant][decomposition]") {
    Inputs in = example();
    in.pools_sampled = false;
    const Decomposition parts = decompose(in);
    CHECK_FALSE(parts.measured);
    CHECK_FALSE(parts.bytes(Part::NotTraced));
    CHECK_FALSE(parts.bytes(Part::PoolUnused));
    CHECK(parts.lines.size() == 2);
}
