// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/unwind_memo.h"

#include <alloca.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

#include "shim/capture/native_stack.h"
#include "tests/support/catch.h"
#include "tests/unit/shim/capture/both_walks.h"

// Random programs that capture all the time. Each walk that remembers is compared with one that does not, and some with
// libunwind: frames, flags and hash must be the same.

using namespace vramtrace;
using test::current_definitions;
using test::WithDefinitions;

namespace {

std::atomic<uint64_t> walks, different, wrong_against_libunwind, joined_whole, from_handlers, frames, walked;
unsigned depth_limit = 128;
shim::CodeMap* code;

struct PerThread {
    std::unique_ptr<shim::WalkSpace> remembering = std::make_unique<shim::WalkSpace>();
    std::unique_ptr<shim::WalkSpace> plain = std::make_unique<shim::WalkSpace>();
    shim::StackMemory memory{};
    std::mt19937 random;
    volatile sig_atomic_t busy = 0;
    int budget = 0;
};
thread_local PerThread* mine;

[[gnu::noinline]] void compare() {
    PerThread& thread = *mine;
    if (thread.busy) return;
    thread.busy = 1;
    shim::StartRegisters start;
    shim::read_registers(start);
    const auto& definitions = current_definitions()->table();
    auto& table = const_cast<trace::DefinitionTable&>(definitions);
    const shim::NativeStack full =
        walk_native_stack(*code, table, start, thread.memory, *thread.plain, depth_limit, shim::UseMemo::No);
    const shim::NativeStack quick =
        walk_native_stack(*code, table, start, thread.memory, *thread.remembering, depth_limit);
    walks.fetch_add(1, std::memory_order_relaxed);
    frames.fetch_add(full.count, std::memory_order_relaxed);
    walked.fetch_add(quick.walked, std::memory_order_relaxed);
    if (quick.id != 0) {
        // "The same as last time": what was remembered must be this stack.
        joined_whole.fetch_add(1, std::memory_order_relaxed);
        if (quick.id != full.hash % 1000000 + 1) different.fetch_add(1);
    } else {
        const bool equal = quick.count == full.count && quick.flags == full.flags && quick.loss == full.loss &&
                           quick.hash == full.hash &&
                           memcmp(quick.frames, full.frames, full.count * sizeof(trace::Frame)) == 0;
        if (!equal) different.fetch_add(1);
        // The id stands for the content here.
        if (quick.remembered)
            thread.remembering->memo.set_id(static_cast<uint32_t>(full.hash % 1000000 + 1), depth_limit);
    }
    if (walks.load(std::memory_order_relaxed) % 64 == 0 && full.flags == 0) {
        static thread_local test::Addresses theirs;
        test::libunwind_addresses(theirs, false);
        // Theirs begins with the caller of libunwind_addresses, which is this function; ours with its caller.
        if (theirs.size() != full.count + 1U) wrong_against_libunwind.fetch_add(1);
    }
    thread.busy = 0;
}

bool chance(unsigned percent) {
    return mine->random() % 100 < percent;
}

int random_program(int depth);
volatile int sink;

[[gnu::noinline]] int plain_frame(int depth) {
    volatile char room[40] = {};
    room[2] = static_cast<char>(random_program(depth - 1));
    if (chance(30)) compare();
    return room[2];
}

[[gnu::noinline]] int alloca_frame(int depth) {
    volatile char* room = static_cast<char*>(alloca(mine->random() % 600 + 16));
    room[0] = 1;
    const int result = random_program(depth - 1);
    if (chance(30)) compare();
    return result + room[0];
}

[[gnu::noinline]] int realigned_frame(int depth) {
    alignas(64) volatile char wide[128] = {};
    volatile char* room = static_cast<char*>(alloca(mine->random() % 100 + 16));
    room[0] = wide[1];
    return random_program(depth - 1) + room[0];
}

[[gnu::noinline]] int throwing_frame(int depth) {
    try {
        const int result = random_program(depth - 1);
        if (chance(50)) throw result;
        return result;
    } catch (int value) {
        compare();
        return value;
    }
}

// Nothing changes between these captures.
[[gnu::noinline]] void compare_again() {
    for (unsigned again = mine->random() % 3 + 1; again > 0; --again) compare();
}

[[gnu::noinline]] int looping_frame(int depth) {
    int sum = 0;
    for (unsigned i = mine->random() % 4 + 1; i > 0; --i) {
        sum += random_program(depth - 1);
        compare_again();
    }
    return sum;
}

int compare_numbers(const void* a, const void* b) {
    compare();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

[[gnu::noinline]] int sorting_frame(int depth) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof(int), compare_numbers);
    return random_program(depth - 1) + numbers[0];
}

struct Fiber {
    ucontext_t outside, inside;
    int depth, result;
};
thread_local Fiber* fiber;
void run_fiber() {
    Fiber* self = fiber;
    self->result = random_program(self->depth);
}

[[gnu::noinline]] int fiber_frame(int depth) {
    Fiber own;
    Fiber* const before = fiber;
    constexpr size_t kBytes = 256 * 1024;
    void* stack = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    own.depth = depth - 1;
    own.result = 0;
    getcontext(&own.inside);
    own.inside.uc_stack.ss_sp = stack;
    own.inside.uc_stack.ss_size = kBytes;
    own.inside.uc_link = &own.outside;
    fiber = &own;
    makecontext(&own.inside, run_fiber, 0);
    swapcontext(&own.outside, &own.inside);
    fiber = before;
    munmap(stack, kBytes);
    compare();
    return own.result;
}

int random_program(int depth) {
    if (--mine->budget < 0 || depth <= 0) {
        compare();
        return 1;
    }
    switch (mine->random() % 16) {
        case 0:
        case 1:
        case 2:
            return plain_frame(depth);
        case 3:
        case 4:
            return alloca_frame(depth);
        case 5:
            return realigned_frame(depth);
        case 6:
        case 7:
            return throwing_frame(depth);
        case 8:
        case 9:
        case 10:
            return looping_frame(depth) + 1;
        case 11:
            return sorting_frame(depth);
        case 12:
            return chance(4) ? fiber_frame(depth) : plain_frame(depth);
        default: {
            const int result = random_program(depth - 1);
            if (chance(20)) compare();
            return result + 1;
        }
    }
}

void run_programs(unsigned seed, int programs, int depth) {
    PerThread own;
    own.random.seed(seed);
    mine = &own;
    for (int i = 0; i < programs; ++i) {
        own.budget = 400;
        sink = random_program(depth);
    }
    mine = nullptr;
}

void handler(int) {
    if (mine == nullptr || mine->busy) return;
    compare();
    from_handlers.fetch_add(1, std::memory_order_relaxed);
}

void reset() {
    walks = different = wrong_against_libunwind = joined_whole = from_handlers = frames = walked = 0;
}

int rounds() {
    const char* more = getenv("VRAMTRACE_TEST_ROUNDS");
    return more == nullptr ? 1 : atoi(more);
}

void check() {
    INFO(walks.load() << " walks, " << joined_whole.load() << " the same as the last, " << from_handlers.load()
                      << " from handlers; " << frames.load() << " frames, " << walked.load() << " walked");
    CHECK(different.load() == 0);
    CHECK(wrong_against_libunwind.load() == 0);
    CHECK(joined_whole.load() > 0);
    // It is no memo if it is not used. (Stacks much deeper than the limit are mostly walked anew.)
    if (depth_limit >= 128) CHECK(walked.load() < frames.load() / 4 * 3);
}

struct WithCode {
    std::unique_ptr<shim::CodeMap> map = std::make_unique<shim::CodeMap>();
    WithCode() { code = map.get(); }
};

}  // namespace

TEST_CASE("a remembering walk says what a plain one says", "[capture][memo]") {
    WithDefinitions with;
    const WithCode with_code;
    for (const unsigned limit : {128U, 16U, 45U, 1024U}) {
        reset();
        depth_limit = limit;
        run_programs(limit, 300 * rounds(), 40);
        check();
    }
}

TEST_CASE("in threads and under signals, too", "[capture][memo]") {
    WithDefinitions with;
    const WithCode with_code;
    reset();
    depth_limit = 128;
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    itimerval every{{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &every, nullptr);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) threads.emplace_back(run_programs, 100 + t, 300 * rounds(), 60);
    for (std::thread& thread : threads) thread.join();
    every = {};
    setitimer(ITIMER_REAL, &every, nullptr);
    action.sa_handler = SIG_DFL;
    sigaction(SIGALRM, &action, nullptr);
    check();
}
