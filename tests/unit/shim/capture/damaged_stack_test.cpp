// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <random>

#include "shim/capture/native_stack.h"
#include "tests/support/catch.h"
#include "tests/unit/shim/capture/both_walks.h"

// Walks over copies of a real stack into which anything was written. Nothing may crash, and nothing may be kept beyond
// the limit; what the frames are does not matter.

using namespace vramtrace;
using test::current_definitions;
using test::WithDefinitions;

namespace {

constexpr size_t kPage = 4096;

struct Snapshot {
    shim::StartRegisters registers;
    std::vector<unsigned char> bytes;  // from rsp upwards
    uintptr_t rsp = 0;
};
Snapshot snapshot;
volatile int sink;

[[gnu::noinline]] void take_snapshot() {
    shim::read_registers(snapshot.registers);
    snapshot.rsp = snapshot.registers.rsp;
    snapshot.bytes.resize(3 * kPage);
    memcpy(snapshot.bytes.data(), reinterpret_cast<const void*>(snapshot.rsp), snapshot.bytes.size());
}

[[gnu::noinline]] int fill_stack(int depth) {
    volatile uint64_t room[6] = {};
    if (depth == 0) {
        take_snapshot();
    } else {
        sink = fill_stack(depth - 1);
    }
    return static_cast<int>(room[1]) + depth;
}

}  // namespace

TEST_CASE("damaged stacks", "[capture][fuzz]") {
    WithDefinitions with;
    auto code = std::make_unique<shim::CodeMap>();
    auto space = std::make_unique<shim::WalkSpace>();
    auto fresh = std::make_unique<shim::WalkSpace>();
    sink = fill_stack(60);
    REQUIRE(!snapshot.bytes.empty());
    // The copy lies between two guard pages. What pointed into the stack points into the copy.
    const size_t bytes = snapshot.bytes.size();
    auto* area =
        static_cast<unsigned char*>(mmap(nullptr, bytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(area != MAP_FAILED);
    REQUIRE(mprotect(area + kPage, bytes, PROT_READ | PROT_WRITE) == 0);
    unsigned char* copy = area + kPage;
    const auto moved = [&](uint64_t value) {
        const uint64_t distance = value - snapshot.rsp;
        return distance < bytes ? reinterpret_cast<uint64_t>(copy) + distance : value;
    };
    std::vector<uint64_t> words(bytes / 8);
    memcpy(words.data(), snapshot.bytes.data(), bytes);
    std::vector<uint64_t> code_addresses;
    for (uint64_t& word : words) {
        if (moved(word) == word && word > 0x10000 && word < (1ULL << 47)) code_addresses.push_back(word);
        word = moved(word);
    }
    shim::StartRegisters start = snapshot.registers;
    start.rsp = moved(start.rsp);
    start.rbp = moved(start.rbp);
    const char* more = getenv("VRAMTRACE_TEST_ROUNDS");
    const int rounds = more == nullptr ? 1 : atoi(more);
    std::mt19937_64 random(static_cast<uint64_t>(11 + rounds));
    shim::StackMemory memory{};

    memcpy(copy, words.data(), bytes);
    const shim::NativeStack whole =
        walk_native_stack(*code, with.definitions.table(), start, memory, *space, 128, shim::UseMemo::No);
    REQUIRE(whole.count >= 60);

    size_t frames = 0;
    for (int i = 0; i < 60000 * rounds; ++i) {
        memcpy(copy, words.data(), bytes);
        auto* slots = reinterpret_cast<uint64_t*>(copy);
        for (size_t damage = random() % 40 + 1; damage > 0; --damage) {
            uint64_t& slot = slots[random() % words.size()];
            switch (random() % 8) {
                case 0:
                    slot = random();
                    break;
                case 1:
                    slot = 0;
                    break;
                case 2:
                    slot ^= 1ULL << (random() % 48);
                    break;
                case 3:
                    slot = reinterpret_cast<uint64_t>(copy) + random() % (bytes + 512) - 256;
                    break;
                case 4:
                    slot = code_addresses[random() % code_addresses.size()] + random() % 64 - 32;
                    break;
                case 5:
                    slot = (reinterpret_cast<uint64_t>(copy) + random() % bytes) & ~7ULL;
                    break;
                case 6:
                    slot = slots[random() % words.size()];
                    break;
                default:
                    slot = ~0ULL - random() % 100;
            }
        }
        shim::StartRegisters damaged = start;
        if (random() % 8 == 0)
            damaged.rbp = random() % 2 ? random() : reinterpret_cast<uint64_t>(copy) + random() % bytes;
        if (random() % 8 == 0) damaged.pc = code_addresses[random() % code_addresses.size()];
        if (random() % 8 == 0) damaged.rsp = reinterpret_cast<uint64_t>(copy) + random() % bytes;
        if (random() % 64 == 0) damaged.rsp = random();
        const unsigned depth = static_cast<unsigned>(random() % 200 + 1);
        shim::StackMemory own{};
        const shim::NativeStack remembering =
            walk_native_stack(*code, with.definitions.table(), damaged, memory, *space, depth);
        const unsigned count = remembering.count;
        const uint64_t hash = remembering.hash;
        if (count > depth) FAIL("round " << i << ": " << count << " frames, limit " << depth);
        const shim::NativeStack plain =
            walk_native_stack(*code, with.definitions.table(), damaged, own, *fresh, depth, shim::UseMemo::No);
        if (remembering.id == 0 && (plain.count != count || plain.hash != hash)) {
            // Memory outside of the copy that a wild pointer led to may have changed in between; the copy has not.
            FAIL("round " << i << ": " << plain.count << " frames without the memo, " << count << " with");
        }
        frames += count;
    }
    CHECK(frames > 0);
    munmap(area, bytes + 2 * kPage);
}
