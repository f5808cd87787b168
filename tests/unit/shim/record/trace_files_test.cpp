// SPDX-License-Identifier: Apache-2.0
#include "shim/record/trace_files.h"

#include <sys/stat.h>
#include <sys/vfs.h>

#include "shim/arena.h"
#include "shim/record/process_facts.h"
#include "tests/support/memory_segments.h"
#include "tests/unit/shim/record/child_process.h"

using namespace vramtrace;
using namespace vramtrace::shim;
using namespace vramtrace::test;

namespace {

// What lifecycle.cpp does up to the files.
Recording* prepare(const std::string& directory) {
    setenv("VRAMTRACE_DIR", directory.c_str(), 1);
    auto* recording = arena_new<Recording>();
    recording->settings = settings();
    fill_identity(recording->identity);
    return make_trace_directory(*recording).what == nullptr ? recording : nullptr;
}

}  // namespace

TEST_CASE("a ring in shared memory: the trace directory holds a line that says where") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    const auto ended = in_child([&] {
        Recording* recording = prepare(directory);
        if (recording == nullptr) return 1;
        if (create_trace_files(*recording, RingPlace::SharedMemory).what != nullptr) return 2;
        for (uint64_t i = 0; i < 300'000; ++i) {  // two segments
            if (recording->chain.write(numbered_event(1, i, 1)) != i) return 3;
        }
        const char name[] = "in shared memory";
        return recording->definitions.append(trace::DefinitionKind::String, {{name, sizeof name}}) != 0 ? 0 : 4;
    });
    REQUIRE(ended.exit_code == 0);
    const auto names = names_in(directory);
    REQUIRE(names.size() == 1);
    const char* suffix = nullptr;
    const std::string stem = names[0].substr(0, trace::stem_length(names[0].c_str(), &suffix));
    REQUIRE(std::string(suffix) == ".where");
    char prefix[trace::kMaxPath];
    REQUIRE(trace::ring_prefix(directory.c_str(), stem.c_str(), prefix, sizeof prefix) != 0);
    REQUIRE(std::string(prefix) == "/dev/shm/vramtrace-" + stem);
    {
        const LeftTrace left(directory, stem);
        CHECK(left.events.size() == 300'000);
        CHECK(left.header->segments == 2);
        struct stat facts {};
        CHECK(stat((std::string(prefix) + ".ring").c_str(), &facts) == 0);
        CHECK((facts.st_mode & 0777) == 0600);
        left.files->remove_all();
    }
    for (const std::string& name : names_in("/dev/shm")) CHECK(name.find(stem) == std::string::npos);
}

TEST_CASE("a shared memory that cannot be used leaves no pointer behind") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    const auto ended = in_child([&] {
        setenv("VRAMTRACE_DISK_LIMIT", "1M", 1);  // also for what lies elsewhere
        Recording* recording = prepare(directory);
        if (recording == nullptr) return 1;
        return create_trace_files(*recording, RingPlace::SharedMemory).what != nullptr ? 0 : 2;
    });
    REQUIRE(ended.exit_code == 0);
    REQUIRE(names_in(directory).empty());
}

TEST_CASE("names that are taken: the next counter") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    const auto ended = in_child([&] {
        Recording* recording = prepare(directory);
        if (recording == nullptr) return 1;
        // What programs that this process was before may have left of themselves.
        for (const char* suffix : {".ring", ".defs", ".trace", ".where"}) {
            char stem[trace::kMaxStem];
            trace::trace_stem(recording->identity, stem, sizeof stem);
            std::ofstream(directory + "/" + stem + suffix) << "taken";
            ++recording->identity.counter;
        }
        if (create_trace_files(*recording, RingPlace::Directory).what != nullptr) return 2;
        return recording->identity.counter == 4 ? 0 : 3;
    });
    REQUIRE(ended.exit_code == 0);
    unsigned taken = 0;
    for (const std::string& name : names_in(directory)) {
        taken += std::filesystem::file_size(directory + "/" + name) == 5;
    }
    REQUIRE(taken == 4);
}

TEST_CASE("where the ring lies: here, if the file system is of this machine") {
    REQUIRE(choose_ring_place("/") == RingPlace::Directory);
    REQUIRE(choose_ring_place("/dev/shm") == RingPlace::Directory);
}
