// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/native_stack.h"

#include <alloca.h>
#include <search.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tests/support/catch.h"
#include "tests/unit/shim/capture/both_walks.h"

using namespace vramtrace;
using test::BothWalks;
using test::walk_both;
using test::WithDefinitions;

namespace {

volatile int sink;

// What every shape below ends in.
BothWalks walks;
[[gnu::noinline]] void here() {
    walk_both(walks);
    sink = 1;
}

[[gnu::noinline]] int recurse(int depth) {
    volatile char some[24] = {};
    if (depth == 0) {
        here();
    } else {
        sink = recurse(depth - 1);
    }
    return some[0] + depth;
}

[[gnu::noinline]] int varying(int depth) {
    // alloca, so that the frame hangs on rbp; and a frame that hangs on rsp in between.
    if (depth == 0) {
        here();
        return 0;
    }
    char* room = static_cast<char*>(alloca(static_cast<size_t>(depth % 7 * 40 + 16)));
    room[0] = static_cast<char>(depth);
    return varying(depth - 1) + room[0];
}

[[gnu::noinline]] int realigned(int depth) {
    alignas(128) volatile char wide[256] = {};
    if (depth == 0) {
        here();
    } else {
        volatile int length = depth * 16;
        volatile char* room = static_cast<volatile char*>(alloca(static_cast<size_t>(length)));
        room[0] = 1;
        sink = realigned(depth - 1) + room[0];
    }
    return wide[3];
}

int compare(const void* a, const void* b) {
    const int left = *static_cast<const int*>(a), right = *static_cast<const int*>(b);
    if (left == 5 && right == 5) return 0;
    here();
    return left - right;
}

void check() {
    INFO(walks.difference());
    CHECK(walks.equal());
    CHECK(walks.flags == 0);
}

}  // namespace

TEST_CASE("deep recursion", "[capture][walk]") {
    WithDefinitions with;
    for (const int depth : {0, 1, 2, 30, 90, 900}) {
        walks = {};
        sink = recurse(depth);
        check();
        CHECK(walks.ours.size() > static_cast<size_t>(depth));
    }
}

TEST_CASE("alloca and realigned stacks", "[capture][walk]") {
    WithDefinitions with;
    walks = {};
    sink = varying(40);
    check();
    walks = {};
    sink = realigned(20);
    check();
}

TEST_CASE("callbacks from the C library", "[capture][walk]") {
    WithDefinitions with;
    int numbers[] = {4, 2, 9, 1, 7};
    walks = {};
    qsort(numbers, 5, sizeof(int), compare);
    check();
    walks = {};
    const int key = 7;
    sink = bsearch(&key, numbers, 5, sizeof(int), compare) != nullptr;
    check();
    walks = {};
    size_t count = 5;
    sink = lfind(&key, numbers, &count, sizeof(int), compare) != nullptr;
    check();
}

TEST_CASE("threads", "[capture][walk]") {
    WithDefinitions with;
    walks = {};
    std::thread([] { sink = recurse(12); }).join();
    check();
}

TEST_CASE("while an exception is handled and when a destructor runs for one", "[capture][walk]") {
    WithDefinitions with;
    struct AtEnd {
        ~AtEnd() { here(); }
    };
    walks = {};
    try {
        const AtEnd end;
        if (sink >= 0) throw std::runtime_error("x");
    } catch (const std::exception&) {
        check();
        walks = {};
        here();
        check();
    }
}

namespace {

ucontext_t outside, inside;
void on_other_stack() {
    sink = recurse(5);
}

void on_other_stack_with(BothWalks* result) {
    walks = {};
    getcontext(&inside);
    constexpr size_t kBytes = 65536;
    void* stack = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = kBytes;
    inside.uc_link = &outside;
    makecontext(&inside, on_other_stack, 0);
    swapcontext(&outside, &inside);
    munmap(stack, kBytes);
    *result = walks;
}

}  // namespace

TEST_CASE("a stack of makecontext", "[capture][walk]") {
    WithDefinitions with;
    BothWalks result;
    for (int i = 0; i < 3; ++i) {
        on_other_stack_with(&result);
        REQUIRE(result.ours.size() > 1);
        REQUIRE(result.theirs.size() > 1);
        result.theirs.back() += 1;  // the start of the first function: it was put there, nobody called
        INFO(result.difference());
        CHECK(result.equal());
        CHECK(result.flags == 0);
    }
}

namespace {

void handler(int) {
    here();
}

void raise_in(int signal, int flags) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
    walks = {};
    sink = raise(signal);
}

}  // namespace

TEST_CASE("signal handlers, on the stack of the thread and on their own", "[capture][walk]") {
    WithDefinitions with;
    raise_in(SIGUSR1, 0);
    check();
    stack_t own{};
    std::vector<char> room(65536);
    own.ss_sp = room.data();
    own.ss_size = room.size();
    REQUIRE(sigaltstack(&own, nullptr) == 0);
    raise_in(SIGUSR2, SA_ONSTACK);
    check();
    own.ss_flags = SS_DISABLE;
    sigaltstack(&own, nullptr);
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGUSR1, &usual, nullptr);
    sigaction(SIGUSR2, &usual, nullptr);
}

// --------------------------------------------------------------------------------------------------------------------
// Every instruction of some code: prologues, epilogues, procedure linkage tables, the loader's lazy resolver, copies in
// libc by its vector code. A trap after each of them captures.
namespace {

constexpr unsigned kMostSteps = 60000;
unsigned steps, different;
BothWalks first_difference;

void trap(int, siginfo_t*, void*) {
    if (steps >= kMostSteps) return;
    ++steps;
    walk_both(walks, false);
    if (walks.equal()) return;
    if (different++ == 0) first_difference = walks;
}

[[gnu::noinline]] double stepped(int rounds) {
    asm volatile("pushfq; orl $0x100, (%%rsp); popfq" ::: "memory", "cc");
    double sum = 0;
    for (int i = 0; i < rounds; ++i) {
        alignas(64) volatile double wide[8] = {1, 2, 3};
        char* room = static_cast<char*>(alloca(static_cast<size_t>(i * 50 + 40)));
        snprintf(room, 40, "%d", i);
        sum += std::strtol(room, nullptr, 10) + wide[1] + std::cbrt(sum + i) + std::atof(room);
        int numbers[] = {4, 2, 9, 1, 7, i};
        qsort(numbers, 6, sizeof(int),
              [](const void* a, const void* b) { return *static_cast<const int*>(a) - *static_cast<const int*>(b); });
        sum += numbers[2] + std::hypot(1.0, sum);
    }
    asm volatile("pushfq; andl $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    return sum;
}

}  // namespace

TEST_CASE("every instruction", "[capture][walk][steps]") {
    WithDefinitions with;
    struct sigaction action {};
    action.sa_sigaction = trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    steps = different = 0;
    sink = static_cast<int>(stepped(5));
    action.sa_flags = 0;
    action.sa_handler = SIG_DFL;
    sigaction(SIGTRAP, &action, nullptr);
    CHECK(steps > 10000);
    INFO(steps << " steps, " << different << " different\n" << first_difference.difference());
    CHECK(different == 0);
}
