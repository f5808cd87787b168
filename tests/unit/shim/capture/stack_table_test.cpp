// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/stack_table.h"

#include <memory>
#include <random>
#include <set>
#include <thread>

#include "shim/capture/intern_table.h"
#include "tests/support/catch.h"
#include "tests/unit/shim/capture/memory_definitions.h"

using namespace vramtrace;

TEST_CASE("stacks of equal hash are told apart by their frames", "[capture][intern]") {
    test::MemoryDefinitions definitions;
    auto table = std::make_unique<shim::StackTable>();
    constexpr uint64_t kSame = 42;
    std::set<trace::DefinitionId> ids;
    for (trace::Frame i = 0; i < 40; ++i) {
        const trace::Frame frames[] = {i, 7};
        ids.insert(table->intern(definitions.table(), frames, 2, 0, kSame));
    }
    // The same frames under another flag, and fewer of them, are other stacks.
    const trace::Frame frames[] = {0, 7};
    ids.insert(table->intern(definitions.table(), frames, 2, trace::kStackTruncated, kSame));
    ids.insert(table->intern(definitions.table(), frames, 1, 0, kSame));
    CHECK(ids.size() == 42);
    CHECK(ids.count(0) == 0);
    for (trace::Frame i = 0; i < 40; ++i) {
        const trace::Frame again[] = {i, 7};
        const trace::DefinitionId id = table->intern(definitions.table(), again, 2, 0, kSame);
        CHECK(ids.count(id) == 1);
        CHECK(definitions.stack(id).frames == std::vector<trace::Frame>{i, 7});
    }
    CHECK(definitions.count(trace::DefinitionKind::Stack) == 42);
}

TEST_CASE("the index grows, and what was in it is still found", "[capture][intern]") {
    test::MemoryDefinitions definitions(256U << 20);
    auto table = std::make_unique<shim::StackTable>();
    constexpr trace::Frame kStacks = 100000;
    std::vector<trace::DefinitionId> ids;
    for (trace::Frame i = 0; i < kStacks; ++i) {
        const trace::Frame frames[] = {i << 4, i * 3, 99};
        ids.push_back(table->intern(definitions.table(), frames, 3, 0, shim::hash_frames(frames, 3)));
        REQUIRE(ids.back() != 0);
    }
    size_t other = 0;
    for (trace::Frame i = 0; i < kStacks; ++i) {
        const trace::Frame frames[] = {i << 4, i * 3, 99};
        if (table->intern(definitions.table(), frames, 3, 0, shim::hash_frames(frames, 3)) != ids[i]) ++other;
    }
    CHECK(other == 0);
    CHECK(definitions.count(trace::DefinitionKind::Stack) == kStacks);
}

TEST_CASE("many threads intern the same stacks", "[capture][intern]") {
    test::MemoryDefinitions definitions(256U << 20);
    auto table = std::make_unique<shim::StackTable>();
    constexpr unsigned kStacks = 20000, kThreads = 4;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            for (unsigned i = 0; i < 3 * kStacks; ++i) {
                const trace::Frame stack = random() % kStacks;
                const trace::Frame frames[] = {stack, stack ^ 0x5555, t * 0};
                const trace::DefinitionId id =
                    table->intern(definitions.table(), frames, 3, 0, shim::hash_frames(frames, 3));
                const auto body = definitions.table().body(id);
                if (body.size() != 32 || memcmp(body.data() + 8, frames, 24) != 0) wrong.fetch_add(1);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong.load() == 0);
    // Twice only for those that were met at the same moment.
    CHECK(definitions.count(trace::DefinitionKind::Stack) < kStacks + kStacks / 10);
}

TEST_CASE("the hash of a part follows from the hash of the whole", "[capture][intern]") {
    std::vector<trace::Frame> frames;
    std::mt19937_64 random(3);
    std::set<uint64_t> hashes;
    for (size_t i = 0; i < 200; ++i) frames.push_back(random());
    for (size_t count = 1; count <= frames.size(); ++count) hashes.insert(shim::hash_frames(frames.data(), count));
    CHECK(hashes.size() == frames.size());
    std::swap(frames[3], frames[4]);
    CHECK(hashes.count(shim::hash_frames(frames.data(), 200)) == 0);
}
