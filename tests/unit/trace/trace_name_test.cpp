// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_name.h"

#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/scratch_directory.h"

using namespace vramtrace::trace;

namespace {

ProcessIdentity someone() {
    ProcessIdentity identity;
    identity.pid = 4711;
    identity.start_time = 123456;
    identity.counter = 2;
    identity.open_realtime = 1'700'000'000'123'456'789;
    std::strcpy(identity.host, "node-7.cluster");
    return identity;
}

std::string expanded(const char* pattern, const char* rank = "3") {
    char buffer[64];
    return expand_pattern(pattern, someone(), rank, buffer, sizeof buffer) == 0 ? "refused" : buffer;
}

}  // namespace

TEST_CASE("a stem has no path in it and says whose trace it is") {
    char stem[kMaxStem];
    REQUIRE(trace_stem(someone(), stem, sizeof stem) == strlen("node-7_cluster.4711.123456.2"));
    REQUIRE(std::string(stem) == "node-7_cluster.4711.123456.2");
    REQUIRE(trace_stem(someone(), stem, 10) == 0);
    ProcessIdentity nobody;
    trace_stem(nobody, stem, sizeof stem);
    REQUIRE(std::string(stem) == "unknown.0.0.0");
    std::memset(nobody.host, '/', sizeof nobody.host);  // no NUL at all
    REQUIRE(trace_stem(nobody, stem, sizeof stem) == 64 + 6);
    REQUIRE(std::string(stem).find('/') == std::string::npos);
}

TEST_CASE("placeholders of the directory") {
    REQUIRE(expanded("/tmp/x") == "/tmp/x");
    REQUIRE(expanded("%h/%p-%t-%n%%") == "node-7_cluster/4711-1700000000-3%");
    REQUIRE(expanded("%n", nullptr) == "0");
    REQUIRE(expanded("%n", "") == "0");
    REQUIRE(expanded("%n", "../x") == "___x");
    REQUIRE(expanded("%q") == "refused");
    REQUIRE(expanded("x%") == "refused");
    REQUIRE(expanded(std::string(100, 'a').c_str()) == "refused");
}

TEST_CASE("names of files and back") {
    char path[kMaxPath];
    REQUIRE(ring_path("/d/s.1.2.0", 0, path, sizeof path) == 15);
    REQUIRE(std::string(path) == "/d/s.1.2.0.ring");
    ring_path("/d/s.1.2.0", 12, path, sizeof path);
    REQUIRE(std::string(path) == "/d/s.1.2.0.ring.12");
    const char* suffix = nullptr;
    REQUIRE(stem_length("node-7_cluster.4711.123456.2.ring.12", &suffix) == strlen("node-7_cluster.4711.123456.2"));
    REQUIRE(std::string(suffix) == ".ring.12");
    for (const char* good : {"h.1.2.0.ring", "h.1.2.0.defs", "h.1.2.0.trace", "h.1.2.0.where"}) {
        CHECK(stem_length(good, nullptr) == 7);
    }
    for (const char* bad : {"", "collector.lock", "run.json", "h.1.2.0", "h.1.2.ring", "h.1.2.0.ring.",
                            "h.1.2.0.ring.x", "h.1.2.0.tracex", ".1.2.0.ring", "h..2.0.ring", "h.1.2.0.defs.1"}) {
        CHECK(stem_length(bad, nullptr) == 0);
    }
}

TEST_CASE("the pointer to a ring that lies elsewhere") {
    const vramtrace::test::ScratchDirectory scratch;
    const std::string directory = scratch.path();
    char prefix[kMaxPath];
    REQUIRE(ring_prefix(directory.c_str(), "h.1.2.0", prefix, sizeof prefix) != 0);
    REQUIRE(prefix == directory + "/h.1.2.0");
    const auto write = [&](const std::string& text) { std::ofstream(directory + "/h.1.2.0.where") << text; };
    write("/dev/shm/vramtrace-h.1.2.0\n");
    REQUIRE(ring_prefix(directory.c_str(), "h.1.2.0", prefix, sizeof prefix) == strlen("/dev/shm/vramtrace-h.1.2.0"));
    REQUIRE(std::string(prefix) == "/dev/shm/vramtrace-h.1.2.0");
    for (const char* damaged : {"", "/dev/shm/vram", "relative\n", "/a\n/b\n", "/\n"}) {
        write(damaged);
        const size_t length = ring_prefix(directory.c_str(), "h.1.2.0", prefix, sizeof prefix);
        CHECK(length == 0);
    }
    write(std::string(5000, '/') + "\n");
    REQUIRE(ring_prefix(directory.c_str(), "h.1.2.0", prefix, sizeof prefix) == 0);
    // A pipe under that name is not waited for.
    std::filesystem::remove(directory + "/h.1.2.0.where");
    REQUIRE(mkfifo((directory + "/h.1.2.0.where").c_str(), 0600) == 0);
    REQUIRE(ring_prefix(directory.c_str(), "h.1.2.0", prefix, sizeof prefix) == 0);
}
