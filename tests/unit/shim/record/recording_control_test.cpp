// SPDX-License-Identifier: Apache-2.0
#include "shim/record/recording_control.h"

#include "tests/unit/shim/record/recording_child.h"

using namespace vramtrace;
using namespace vramtrace::shim;
using namespace vramtrace::test;

namespace {

std::vector<EventKind> kinds(const LeftTrace& left) {
    std::vector<EventKind> out;
    for (const trace::Event& event : left.events) out.push_back(event.kind);
    return out;
}

}  // namespace

TEST_CASE("while stopped, what begins is left out and what ends is not") {
    const ScratchDirectory scratch;
    const auto ended = in_child([&] {
        record_into(scratch.file("t"));
        if (put(1) != 0 || !recording_wanted()) return 1;
        stop_recording();
        stop_recording();  // once is enough
        if (recording_wanted() || put(2) != kNotRecorded) return 2;
        if (put(1, OpensRing::No, WithStack::Yes, EventKind::DeviceFree) == kNotRecorded) return 3;
        if (put(3, OpensRing::Yes, WithStack::Yes, EventKind::ContextSeen) == kNotRecorded) return 4;
        if (put(4, OpensRing::Yes, WithStack::Yes, EventKind::CallFailed) != kNotRecorded) return 5;
        start_recording();
        return put(5) == kNotRecorded ? 6 : 0;
    });
    REQUIRE(ended.exit_code == 0);
    const LeftTrace left(scratch.file("t"));
    REQUIRE(kinds(left) == std::vector{EventKind::DeviceAlloc, EventKind::RecordingStopped, EventKind::DeviceFree,
                                       EventKind::ContextSeen, EventKind::RecordingStarted, EventKind::DeviceAlloc});
    CHECK(left.events[1].size == 1);
    CHECK(left.events[2].stack == 0);
    CHECK(left.events[5].stack != 0);
}

TEST_CASE("stopped from the start: the trace begins by saying so, and a fork's child is stopped too") {
    const ScratchDirectory scratch;
    const auto ended = in_child([&] {
        record_into(scratch.file("%p"));
        setenv("VRAMTRACE_START", "0", 1);
        if (recording_wanted() || put(1) != kNotRecorded) return 1;
        if (!recording()) return 2;
        start_recording();
        if (put(2) == kNotRecorded) return 3;
        stop_recording();
        const pid_t child = fork();
        if (child == 0) _exit(!recording_wanted() && put(3) == kNotRecorded && recording() ? 0 : 1);
        return wait_for(child);
    });
    REQUIRE(ended.exit_code == 0);
    for (const std::string& name : names_in(scratch.path())) {
        const LeftTrace left(scratch.file(name));
        REQUIRE(left.events[0].kind == EventKind::RecordingStopped);
        REQUIRE(left.events[0].size == 1);
        REQUIRE(left.events[0].aux != 0);
    }
}

TEST_CASE("too small is counted and left out; its release and whole mappings are not") {
    const ScratchDirectory scratch;
    const auto ended = in_child([&] {
        record_into(scratch.file("t"));
        setenv("VRAMTRACE_MIN_SIZE", "1K", 1);
        setenv("VRAMTRACE_LEVEL", "driver", 1);
        if (put(512) != 0 || put(511) != kNotRecorded) return 1;  // sizes are twice that
        if (put(511, OpensRing::No, WithStack::Yes, EventKind::DeviceFree) == kNotRecorded) return 2;
        if (put(1, OpensRing::No, WithStack::Yes, EventKind::PhysicalCreate) == kNotRecorded) return 3;
        if (put(9000, OpensRing::No, WithStack::Yes, EventKind::BlockAlloc) != kNotRecorded) return 4;
        return 0;
    });
    REQUIRE(ended.exit_code == 0);
    const LeftTrace left(scratch.file("t"));
    REQUIRE(left.events.size() == 3);
    CHECK(left.losses[static_cast<size_t>(trace::Loss::TooSmall)] == 1);
}
