// SPDX-License-Identifier: Apache-2.0
// What cannot be created, written or understood: the program goes on as if we were not there.
#include <sys/mount.h>
#include <sys/resource.h>

#include "tests/unit/shim/record/recording_child.h"
#include "trace/ring/system_calls.h"

using namespace vramtrace;
using namespace vramtrace::shim;
using namespace vramtrace::test;
using trace::Loss;

TEST_CASE("no collector: segments up to the limit, then each loss is counted and nobody waits") {
    const ScratchDirectory scratch;
    constexpr uint64_t kEvents = 200'000;
    const auto ended = in_child([&] {
        record_into(scratch.file("t"));
        setenv("VRAMTRACE_BUFFER_LIMIT", "4M", 1);
        uint64_t lost = 0;
        const uint64_t begin = trace::sys::monotonic_ns();
        for (uint64_t i = 0; i < kEvents; ++i) {
            lost += put(i, OpensRing::Yes, WithStack::No) == kNotRecorded;
        }
        if (trace::sys::monotonic_ns() - begin > 5'000'000'000) return 1;
        return lost > 0 ? 0 : 2;
    });
    REQUIRE(ended.exit_code == 0);
    const LeftTrace left(scratch.file("t"));
    REQUIRE(left.events.size() + left.loss(Loss::RingFull) == kEvents);
    REQUIRE(left.events.size() >= 60'000);
    REQUIRE(left.header->first_loss_time >= left.events.back().time);
}

TEST_CASE("what cannot be created is said in one line, and the program goes on") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    const bool quiet = GENERATE(false, true);
    std::function<void()> spoil = [] {};
    bool mounted = false;
    SECTION("a file stands where the directory should be") {
        std::ofstream(directory) << "x";
    }
    SECTION("RLIMIT_FSIZE") {
        spoil = [] {
            const rlimit limit{10'000, 10'000};
            setrlimit(RLIMIT_FSIZE, &limit);
        };
    }
    SECTION("the directory is full by our own limit") {
        spoil = [] { setenv("VRAMTRACE_DISK_LIMIT", "1M", 1); };
    }
    SECTION("an unknown placeholder") {
        spoil = [] { setenv("VRAMTRACE_DIR", "/tmp/%z", 1); };
    }
    SECTION("a full disk") {
        std::filesystem::create_directory(directory);
        mounted = mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=64k") == 0;
        if (!mounted) {
            WARN("left out: only root can mount a small file system");
            return;
        }
    }
    SECTION("no permission") {
        spoil = [] { setenv("VRAMTRACE_DIR", "/proc/nowhere", 1); };
    }
    const auto ended = in_child([&] {
        record_into(directory);
        if (quiet) setenv("VRAMTRACE_QUIET", "1", 1);
        spoil();
        const int descriptors = count_descriptors();
        for (unsigned i = 0; i < 1000; ++i) {
            if (put(i) != kNotRecorded) return 1;
        }
        const pid_t child = fork();
        if (child == 0) _exit(put(1) == kNotRecorded ? 0 : 1);
        return wait_for(child) == 0 && count_descriptors() == descriptors && !recording() ? 0 : 2;
    });
    if (mounted) {
        CHECK(names_in(directory).empty());
        umount2(directory.c_str(), MNT_DETACH);
    }
    CHECK(ended.exit_code == 0);
    if (quiet) {
        CHECK(ended.stderr_text.empty());
    } else {
        CHECK_THAT(ended.stderr_text, ContainsSubstring("vramtrace: not recording: "));
        CHECK(std::count(ended.stderr_text.begin(), ended.stderr_text.end(), '\n') == 1);
        CHECK(ended.stderr_text.size() <= 512);
    }
    if (std::filesystem::is_directory(directory)) CHECK(names_in(directory).empty());
}

TEST_CASE("stderr that is a broken, a full or a closed pipe neither kills nor blocks") {
    const int how = GENERATE(0, 1, 2);
    const auto ended = in_child([&] {
        setenv("VRAMTRACE_DIR", "/proc/nowhere", 1);
        int ends[2];
        if (pipe(ends) != 0) return 1;
        dup2(ends[1], 2);
        if (how == 0) close(ends[0]);
        if (how == 1) {
            fcntl(2, F_SETFL, O_NONBLOCK);
            char block[4096] = {};
            while (write(2, block, sizeof block) > 0) {
            }
            fcntl(2, F_SETFL, 0);
        }
        if (how == 2) close(2);
        alarm(5);
        return put(1) == kNotRecorded ? 0 : 2;
    });
    CHECK(ended.exit_code == 0);
}

TEST_CASE("a setting that makes no sense is named in one line and ignored") {
    const ScratchDirectory scratch;
    const auto ended = in_child([&] {
        record_into(scratch.file("t"));
        setenv("VRAMTRACE_STACK_DEPTH", "many", 1);
        setenv("VRAMTRACE_BUFFER_LIMIT", "-3", 1);
        return put(1) == 0 ? 0 : 1;
    });
    REQUIRE(ended.exit_code == 0);
    REQUIRE(ended.stderr_text.find("vramtrace: ignored a setting: VRAMTRACE_") == 0);
    REQUIRE(std::count(ended.stderr_text.begin(), ended.stderr_text.end(), '\n') == 1);
    REQUIRE(LeftTrace(scratch.file("t")).fact(trace::fact::kStackDepth) == "128");
}
