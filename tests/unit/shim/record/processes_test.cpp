// SPDX-License-Identifier: Apache-2.0
// fork, raw clone, vfork, exec in place.
#include <signal.h>
#include <sys/syscall.h>

#include "tests/unit/shim/record/recording_child.h"

using namespace vramtrace;
using namespace vramtrace::shim;
using namespace vramtrace::test;

TEST_CASE("a fork's child leaves nothing unless it records, and then its own trace") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    const int how = GENERATE(0, 1);  // fork(), raw clone
    const auto ended = in_child([&] {
        record_into(directory);
        put(1);
        const auto start_child = [&]() -> pid_t {
            if (how == 0) return fork();
            return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
        };
        const pid_t quiet = start_child();
        if (quiet == 0) {
            if (recording() || put(50, OpensRing::No) != kNotRecorded) _exit(1);
            in_flight_leave(0);
            _exit(0);
        }
        if (wait_for(quiet) != 0) return 1;
        const pid_t busy = start_child();
        if (busy == 0) {
            if (put(200) != 0) _exit(1);
            const pid_t grandchild = start_child();
            if (grandchild == 0) _exit(put(300) == 0 ? 0 : 1);
            if (put(201) != 1) _exit(2);
            _exit(wait_for(grandchild));
        }
        if (wait_for(busy) != 0) return 2;
        return put(2) == 1 ? 0 : 3;
    });
    REQUIRE(ended.exit_code == 0);
    REQUIRE(ended.stderr_text.empty());
    const auto stems = stems_in(directory);
    REQUIRE(stems.size() == 3);
    std::set<uint64_t> addresses;
    for (const std::string& stem : stems) {
        const LeftTrace left(directory, stem);
        const uint64_t first = left.events.at(0).address;
        addresses.insert(first);
        REQUIRE(left.events.size() == (first == 300 ? 1 : 2));
        for (const trace::Event& event : left.events) {
            CHECK(event.address / 100 == first / 100);
            CHECK(event.thread == left.header->identity.pid);
            CHECK_FALSE(left.image.body(event.stack, trace::DefinitionKind::Stack).empty());
        }
    }
    REQUIRE(addresses == std::set<uint64_t>{1, 200, 300});
}

TEST_CASE("vfork and exec leave the parent's recording alone; exec in place takes the next counter") {
    if (getenv("VRAMTRACE_TEST_AFTER_EXEC") != nullptr) _exit(put(77) == 0 ? 0 : 1);
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    const auto ended = in_child([&] {
        record_into(directory);
        put(1);
        const pid_t child = vfork();
        if (child == 0) {
            execl("/bin/true", "true", nullptr);
            _exit(9);
        }
        if (wait_for(child) != 0) return 1;
        put(2);
        setenv("VRAMTRACE_TEST_AFTER_EXEC", "1", 1);
        execl("/proc/self/exe", "test", "vfork and exec*", nullptr);
        return 2;
    });
    REQUIRE(ended.exit_code == 0);
    const auto stems = stems_in(directory);
    REQUIRE(stems.size() == 2);
    const LeftTrace before(directory, stems[0]), after(directory, stems[1]);
    REQUIRE(before.events.size() == 2);
    REQUIRE(after.events.size() == 1);
    REQUIRE(after.header->identity.counter == 1);
    REQUIRE(after.header->identity.pid == before.header->identity.pid);
    REQUIRE(after.header->identity.start_time == before.header->identity.start_time);
}
