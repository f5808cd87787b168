// SPDX-License-Identifier: Apache-2.0
#include "trace/container/definition_store.h"

#include <algorithm>
#include <vector>

#include "tests/support/catch.h"

using namespace vramtrace::trace;

TEST_CASE("ranges overlay each other, wherever they lie") {
    DefinitionStore store;
    const std::vector<std::byte> ones(100, std::byte{1}), twos(50, std::byte{2});
    CHECK(store.lay(16, ones));
    CHECK(store.lay(40, twos));
    const auto early = store.image();
    CHECK(early.size() == 116);
    CHECK(early[39] == std::byte{1});
    CHECK(early[40] == std::byte{2});
    CHECK(early[90] == std::byte{1});

    // Far away: what was there stays, and so do the spans that were handed out.
    constexpr uint64_t kFar = 3ULL << 30;
    CHECK(store.lay(kFar, ones));
    CHECK(store.image().size() == kFar + 100);
    CHECK(std::equal(early.begin(), early.end(), store.image().begin()));
    CHECK(store.image()[kFar - 1] == std::byte{0});
    CHECK(store.image()[kFar + 99] == std::byte{1});
    CHECK(store.lay((4ULL << 30) - 50, twos));
}

TEST_CASE("ranges beyond any image are refused") {
    DefinitionStore store;
    const std::vector<std::byte> bytes(100, std::byte{1});
    CHECK_FALSE(store.lay((4ULL << 30) - 99, bytes));
    CHECK_FALSE(store.lay(~0ULL, bytes));
    CHECK_FALSE(store.lay(~0ULL - 50, bytes));
    CHECK(store.image().empty());
    CHECK(store.lay(5, {}));
    CHECK(store.image().empty());
}
