// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/flat_index.h"

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

using vramtrace::replay::FlatIndex;

TEST_CASE("the index finds what a map finds, whatever is inserted and erased", "[replay][flat_index]") {
    std::mt19937_64 random(7);
    std::vector<int> values(4096);
    FlatIndex<int> index;
    std::map<std::pair<uint64_t, uint8_t>, int*> expected;
    for (int step = 0; step < 200'000; ++step) {
        // Few keys, some a page apart and some next to each other: long runs of collisions.
        const uint64_t key = random() % 2 == 0 ? random() % 3000 : (random() % 3000) << 21;
        const auto space = static_cast<uint8_t>(random() % 3);
        const auto known = expected.find({key, space});
        if (known != expected.end()) {
            REQUIRE(index.find(key, space) == known->second);
            index.erase(key, space);
            expected.erase(known);
        } else {
            REQUIRE(index.find(key, space) == nullptr);
            if (random() % 3 == 0) {
                index.erase(key, space);  // of nothing
                continue;
            }
            int* value = &values[random() % values.size()];
            index.insert(key, space, value);
            expected[{key, space}] = value;
        }
        REQUIRE(index.size() == expected.size());
    }
    for (const auto& [key, value] : expected) REQUIRE(index.find(key.first, key.second) == value);
}
