// SPDX-License-Identifier: Apache-2.0
#include "shim/arena.h"

#include <cerrno>
#include <cstring>
#include <thread>

#include "tests/unit/shim/record/child_process.h"

using namespace vramtrace::shim;
using namespace vramtrace::test;

namespace {

struct Thing {
    std::atomic<uint64_t> value;
};

bool is_zero(const char* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) {
        if (bytes[i] != 0) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("pieces are zero, aligned and do not overlap, whoever asks at the same time") {
    constexpr unsigned kThreads = 4;
    constexpr unsigned kEach = 3000;
    std::vector<std::thread> threads;
    std::atomic<unsigned> wrong{0};
    std::vector<std::pair<char*, size_t>> pieces[kThreads];
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            for (unsigned i = 0; i < kEach; ++i) {
                const size_t bytes = i % 500 == 0 ? 200'000 : 1 + i * 7 % 900;
                const size_t alignment = size_t{1} << i % 13;
                auto* piece = static_cast<char*>(arena_allocate(bytes, alignment));
                wrong += piece == nullptr || reinterpret_cast<uintptr_t>(piece) % alignment != 0;
                if (piece == nullptr) continue;
                wrong += !is_zero(piece, bytes);
                std::memset(piece, 1 + static_cast<int>(thread), bytes);
                pieces[thread].emplace_back(piece, bytes);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        for (const auto& [piece, bytes] : pieces[thread]) {
            for (size_t i = 0; i < bytes; ++i) wrong += piece[i] != 1 + static_cast<int>(thread);
        }
    }
    REQUIRE(wrong == 0);
}

TEST_CASE("a fork's child finds nothing of its parent's") {
    REQUIRE(in_child([] {
                auto* thing = root_object<Thing>(RootSlot::Api);
                if (thing == nullptr || root_object<Thing>(RootSlot::Api) != thing) return 1;
                thing->value = 42;
                auto* piece = static_cast<char*>(arena_allocate(100));
                std::memset(piece, 'x', 100);
                const auto child = in_child([&] {
                    if (root_slot(RootSlot::Api)->load() != nullptr) return 1;
                    if (thing->value != 0 || !is_zero(piece, 100)) return 2;
                    auto* own = root_object<Thing>(RootSlot::Api);
                    if (own == nullptr || own->value != 0) return 3;
                    own->value = 7;
                    return 0;
                });
                if (child.exit_code != 0) return 10 + child.exit_code;
                return thing->value == 42 && piece[99] == 'x' && root_object<Thing>(RootSlot::Api) == thing ? 0 : 2;
            }).exit_code == 0);
}

TEST_CASE("what is too much is refused, errno is kept") {
    REQUIRE(arena_allocate(size_t{1} << 40) == nullptr);
    REQUIRE(arena_allocate(10, 8192) == nullptr);
    REQUIRE(in_child([] {
                errno = 4242;
                if (arena_allocate(100) == nullptr) return 1;
                unsigned pieces = 0;
                while (arena_allocate(64U << 20) != nullptr) ++pieces;  // address space only: nothing is touched
                return pieces == 15 && arena_allocate(100) != nullptr && errno == 4242 ? 0 : 2;
            }).exit_code == 0);
}
