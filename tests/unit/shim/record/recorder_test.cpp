// SPDX-License-Identifier: Apache-2.0
#include "shim/record/recorder.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <cstring>
#include <thread>

#include "shim/thread_state.h"
#include "tests/unit/shim/record/recording_child.h"
#include "trace/ring/system_calls.h"

using namespace vramtrace;
using namespace vramtrace::shim;
using namespace vramtrace::test;
using trace::Loss;

TEST_CASE("the first event opens a trace; it holds what was recorded and says who we are") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("deep/er/%h.%p");
    const auto ended = in_child([&] {
        record_into(directory);
        setenv("VRAMTRACE_STACK_DEPTH", "40", 1);
        const int descriptors = count_descriptors();
        if (recording()) return 1;
        thread_state.label = 9;
        errno = 4242;
        if (put(100) != 0 || put(101) != 1 || errno != 4242) return 2;
        if (!recording() || count_descriptors() != descriptors) return 3;
        return 0;
    });
    REQUIRE(ended.exit_code == 0);
    REQUIRE(ended.stderr_text.empty());
    const auto above = names_in(scratch.file("deep/er"));
    REQUIRE(above.size() == 1);
    struct stat facts {};
    REQUIRE(stat(scratch.file("deep/er/" + above[0]).c_str(), &facts) == 0);
    REQUIRE((facts.st_mode & 0777) == 0700);
    const LeftTrace left(scratch.file("deep/er/" + above[0]));
    REQUIRE(left.events.size() == 2);
    REQUIRE(left.events[0].address == 100);
    REQUIRE(left.events[0].size == 200);
    REQUIRE(left.events[0].label == 9);
    REQUIRE(left.events[0].thread == left.header->identity.pid);
    REQUIRE(left.events[0].time >= left.header->identity.open_monotonic);
    REQUIRE(left.events[1].time >= left.events[0].time);
    REQUIRE_FALSE(left.image.body(left.events[0].stack, trace::DefinitionKind::Stack).empty());
    REQUIRE(left.fact(trace::fact::kStackDepth) == "40");
    REQUIRE(left.fact(trace::fact::kExecutable) == std::filesystem::read_symlink("/proc/self/exe").string());
    REQUIRE(left.fact(trace::fact::kUnloadable) == "switched off by VRAMTRACE_COLLECTOR=0");
    REQUIRE_THAT(left.fact(trace::fact::kSettings), ContainsSubstring("VRAMTRACE_STACK_DEPTH=40"));
    REQUIRE(left.header->identity.start_time != 0);
    REQUIRE(std::strlen(left.header->identity.boot_id) == 36);
    REQUIRE(left.header->identity.counter == 0);
    for (const uint64_t loss : left.losses) CHECK(loss == 0);
}

TEST_CASE("the directory by default") {
    const ScratchDirectory scratch;
    in_child([&] {
        unsetenv("VRAMTRACE_DIR");
        setenv("VRAMTRACE_COLLECTOR", "0", 1);
        if (chdir(scratch.path().c_str()) != 0) return 1;
        return put(1) == 0 ? 0 : 2;
    });
    REQUIRE(LeftTrace(scratch.file("vramtrace-trace")).events.size() == 1);
}

TEST_CASE("events that open no ring are dropped until one is open, and are no loss") {
    const ScratchDirectory scratch;
    const auto ended = in_child([&] {
        record_into(scratch.file("t"));
        if (put(1, OpensRing::No) != kNotRecorded || recording()) return 1;
        if (define(trace::DefinitionKind::String, "x", 1) != 0 || in_flight_enter(0) != -1) return 2;
        if (std::filesystem::exists(scratch.file("t"))) return 3;
        if (put(2) != 0 || put(3, OpensRing::No) != 1) return 4;
        return 0;
    });
    REQUIRE(ended.exit_code == 0);
    const LeftTrace left(scratch.file("t"));
    REQUIRE(left.events.size() == 2);
    for (const uint64_t loss : left.losses) CHECK(loss == 0);
}

TEST_CASE("VRAMTRACE_DISABLE records nothing, VRAMTRACE_FREE_STACKS=0 leaves out the stacks of releases") {
    const ScratchDirectory scratch;
    REQUIRE(in_child([&] {
                record_into(scratch.file("t"));
                setenv("VRAMTRACE_DISABLE", "1", 1);
                return put(1) == kNotRecorded && put(1) == kNotRecorded ? 0 : 1;
            }).exit_code == 0);
    REQUIRE_FALSE(std::filesystem::exists(scratch.file("t")));
    REQUIRE(in_child([&] {
                record_into(scratch.file("t"));
                setenv("VRAMTRACE_FREE_STACKS", "0", 1);
                put(1);
                put(1, OpensRing::No, WithStack::Yes, EventKind::DeviceFree);
                put(1, OpensRing::No, WithStack::No);
                return 0;
            }).exit_code == 0);
    const LeftTrace left(scratch.file("t"));
    REQUIRE(left.events.size() == 3);
    REQUIRE(left.events[0].stack != 0);
    REQUIRE(left.events[1].stack == 0);
    REQUIRE(left.events[2].stack == 0);
}

TEST_CASE("threads that come and go, all at once at the beginning") {
    const ScratchDirectory scratch;
    constexpr unsigned kThreads = 16;
    constexpr unsigned kEach = 2000;
    const auto ended = in_child([&] {
        record_into(scratch.file("t"));
        std::atomic<unsigned> lost{0};
        for (unsigned round = 0; round < 4; ++round) {
            std::vector<std::thread> threads;
            for (unsigned thread = 0; thread < kThreads; ++thread) {
                threads.emplace_back([&, thread] {
                    for (unsigned i = 0; i < kEach; ++i) lost += put(thread * kEach + i) == kNotRecorded;
                });
            }
            for (auto& thread : threads) thread.join();
        }
        return lost == 0 ? 0 : 1;
    });
    REQUIRE(ended.exit_code == 0);
    const LeftTrace left(scratch.file("t"));
    REQUIRE(left.events.size() == 4 * kThreads * kEach);
    std::set<uint32_t> threads;
    for (const trace::Event& event : left.events) threads.insert(event.thread);
    REQUIRE(threads.size() == 4 * kThreads);
    for (const uint64_t loss : left.losses) CHECK(loss == 0);
}

namespace {
std::atomic<uint64_t> from_handler{0};
constexpr uint64_t kHandler = 1ULL << 40, kEnd = 1ULL << 41;
}  // namespace

TEST_CASE("signal handlers that record on top of a recording") {
    const ScratchDirectory scratch;
    const auto ended = in_child([&] {
        record_into(scratch.file("t"));
        struct sigaction action {};
        action.sa_handler = [](int) {
            const int before = errno;
            if (put(kHandler + from_handler) != kNotRecorded) ++from_handler;
            if (errno != before) abort();
        };
        sigaction(SIGALRM, &action, nullptr);
        const itimerval often{{0, 100}, {0, 100}};
        setitimer(ITIMER_REAL, &often, nullptr);
        // As many events as the buffer surely holds, however fast the machine; fewer once enough handlers ran.
        uint64_t written = 0;
        for (; written < 3'000'000 && from_handler < 5000; ++written) {
            if (put(written) == kNotRecorded) return 1;
        }
        const itimerval never{};
        setitimer(ITIMER_REAL, &never, nullptr);
        put(kEnd + from_handler);
        return from_handler > 100 ? 0 : 2;
    });
    REQUIRE(ended.exit_code == 0);
    const LeftTrace left(scratch.file("t"));
    uint64_t next = 0, next_of_handler = kHandler, wrong = 0;
    for (const trace::Event& event : left.events) {
        if (event.address >= kEnd) {
            CHECK(event.address - kEnd == next_of_handler - kHandler);
        } else {
            wrong += event.address != (event.address >= kHandler ? next_of_handler++ : next++);
        }
    }
    CHECK(wrong == 0);
    CHECK(left.loss(Loss::RingFull) == 0);
    CHECK(left.loss(Loss::Abandoned) == 0);
}

TEST_CASE("releases in flight stand in the header until they return") {
    const ScratchDirectory scratch;
    REQUIRE(in_child([&] {
                record_into(scratch.file("t"));
                const int first = in_flight_enter(put(1));
                const int second = in_flight_enter(put(2));
                if (first < 0 || second < 0 || first == second) return 1;
                in_flight_leave(first);
                in_flight_leave(-1);
                for (unsigned i = 0; i < 255; ++i) {
                    if (in_flight_enter(1000 + i) < 0) return 2;
                }
                if (in_flight_enter(5000) != -1) return 3;  // full
                return 0;
            }).exit_code == 0);
    const LeftTrace left(scratch.file("t"));
    uint64_t tickets[300];
    REQUIRE(trace::read_in_flight(*left.header, tickets) == 256);
    std::set<uint64_t> set(tickets, tickets + 256);
    REQUIRE(set.count(1) == 1);
    REQUIRE(set.count(0) == 0);
}

TEST_CASE("definitions are interned, the callback publishes before the first event") {
    const ScratchDirectory scratch;
    REQUIRE(in_child([&] {
                record_into(scratch.file("t"));
                set_opened_callback([] {
                    define(trace::DefinitionKind::Names, "\0cuMemAlloc_v2", 15);
                    put(999);  // not allowed; must not hang
                });
                put(1);
                const auto kind = trace::DefinitionKind::String;
                const auto one = define(kind, "one", 3), two = define(kind, "two", 3);
                if (one == 0 || two == 0 || one == two) return 1;
                for (unsigned i = 0; i < 20'000; ++i) {
                    const std::string text = "number " + std::to_string(i);
                    if (define(kind, text.data(), static_cast<uint32_t>(text.size())) == 0) return 2;
                }
                if (define(kind, "one", 3) != one || define(kind, "two", 3) != two) return 3;
                if (define(trace::DefinitionKind::Fact, "one", 3) == one) return 4;
                if (define(kind, "", 0) != 0) return 5;
                count_loss(Loss::StackFailed);
                return 0;
            }).exit_code == 0);
    const LeftTrace left(scratch.file("t"));
    unsigned ones = 0, names = 0;
    left.image.for_each([&](trace::DefinitionId, trace::DefinitionKind kind, std::span<const std::byte> body) {
        ones += kind == trace::DefinitionKind::String && body.size() == 3 && std::memcmp(body.data(), "one", 3) == 0;
        names += kind == trace::DefinitionKind::Names;
    });
    REQUIRE(ones == 1);
    REQUIRE(names == 1);
    REQUIRE(left.events.size() == 1);
    REQUIRE(left.loss(Loss::StackFailed) == 1);
}

TEST_CASE("killed while it records: what record() returned for is there") {
    const ScratchDirectory scratch;
    for (unsigned round = 0; round < 10; ++round) {
        const std::string directory = scratch.file(std::to_string(round));
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        const pid_t child = fork();
        if (child == 0) {
            record_into(directory);
            for (uint64_t i = 0;; ++i) {
                if (put(i) != i) _exit(1);
                if (write(ends[1], &i, sizeof i) != sizeof i) _exit(2);
            }
        }
        close(ends[1]);
        uint64_t last = 0;
        for (unsigned i = 0; i < 500 + 100 * round; ++i) REQUIRE(read(ends[0], &last, sizeof last) == sizeof last);
        kill(child, SIGKILL);
        while (read(ends[0], &last, sizeof last) == sizeof last) {
        }
        close(ends[0]);
        REQUIRE(wait_for(child) == 1000 + SIGKILL);
        const LeftTrace left(directory);
        REQUIRE(left.events.size() >= last + 1);
        REQUIRE(left.events.size() <= last + 2);
        for (uint64_t i = 0; i < left.events.size(); ++i) {
            REQUIRE(left.events[i].address == i);
            REQUIRE_FALSE(left.image.body(left.events[i].stack, trace::DefinitionKind::Stack).empty());
        }
    }
}
