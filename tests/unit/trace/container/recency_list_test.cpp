// SPDX-License-Identifier: Apache-2.0
#include "trace/container/recency_list.h"

#include <algorithm>
#include <random>

#include "tests/support/catch.h"

using vramtrace::trace::RecencyList;

TEST_CASE("RecencyList answers as a plain list would") {
    std::mt19937 random(7);
    for (const size_t capacity : {1U, 2U, 3U, 63U, 64U, 65U, 1000U}) {
        RecencyList list;
        list.reset(capacity);
        std::vector<uint32_t> plain;
        for (size_t i = 0; i < capacity; ++i) {
            plain.push_back(list.enter());
            if (random() % 3 == 0) {
                const size_t victim = random() % plain.size();
                list.leave(plain[victim]);
                plain.erase(plain.begin() + static_cast<ptrdiff_t>(victim));
            }
            REQUIRE(list.count() == plain.size());
            for (size_t place = 0; place < plain.size(); ++place) {
                const auto rank = static_cast<uint32_t>(plain.size() - 1 - place);
                REQUIRE(list.rank(plain[place]) == rank);
                REQUIRE(list.entry(rank) == plain[place]);
            }
        }
    }
}
