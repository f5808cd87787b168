// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/limits.h"

#include <fstream>
#include <stdexcept>

#include "tests/support/catch.h"
#include "tests/support/scratch_directory.h"

using namespace vramtrace::gate;

namespace {

struct Written {
    explicit Written(const std::string& text) : path(scratch.file("vramtrace.toml")) { std::ofstream(path) << text; }
    vramtrace::test::ScratchDirectory scratch;
    std::string path;
};

std::string refusal(const std::string& text) {
    const Written file(text);
    try {
        read_gate_file(file.path);
    } catch (const std::invalid_argument& error) {
        return std::string(error.what()).substr(file.path.size());
    }
    return "accepted";
}

}  // namespace

TEST_CASE("a gate file with everything in it", "[gate]") {
    const Written file(R"([gate]
leaked_bytes = "0 B"
leaked_allocations = 3
leaked_bytes_per_site = 4096
growth_per_iteration = 0
peak = "8 GiB"
peak_tolerance = "5 %"
fragmentation = 0.4
failed_allocations = 1
handles = 2
phase = "eval"
baseline = "known.json"
suppressions = "known.supp"

[[suppression]]
leak = "libfoo*"
kind = "pinned host memory"
max_bytes = "64 MiB"
max_allocations = 2
reason = "known"
until = 2027-06-30
)");
    const GateFile gate = read_gate_file(file.path);
    CHECK(gate.limits.leaked_bytes == 0);
    CHECK(gate.limits.leaked_allocations == 3);
    CHECK(gate.limits.leaked_bytes_per_site == 4096);
    CHECK(gate.limits.growth == 0);
    CHECK(gate.limits.peak == 8ULL << 30);
    CHECK(gate.limits.peak_tolerance == 0.05);
    CHECK(gate.limits.fragmentation == 0.4);
    CHECK(gate.limits.failed_allocations == 1);
    CHECK(gate.limits.handles == 2);
    CHECK(gate.phase == "eval");
    CHECK(gate.baseline == "known.json");
    CHECK(gate.suppression_files == std::vector<std::string>{"known.supp"});
    REQUIRE(gate.suppressions.size() == 1);
    CHECK(gate.suppressions[0].pattern == "libfoo*");
    CHECK(gate.suppressions[0].most_bytes == 64ULL << 20);
    CHECK(gate.suppressions[0].until == "2027-06-30");
    CHECK(gate.suppressions[0].origin == file.path + ":15");
}

TEST_CASE("what is wrong in a gate file is said with its line", "[gate]") {
    CHECK_THAT(refusal("[gate]\nleaked_byte = 0\n"), ContainsSubstring(":2: 'leaked_byte' is not known here"));
    CHECK_THAT(refusal("[gate]\npeak = \"much\"\n"), ContainsSubstring(":2: 'peak' is no number of bytes"));
    CHECK_THAT(refusal("[gate]\nhandles = -1\n"), ContainsSubstring(":2: 'handles' is no whole number"));
    CHECK_THAT(refusal("[gate]\npeak = -1\n"), ContainsSubstring("no number of bytes"));
    CHECK_THAT(refusal("[gat]\n"), ContainsSubstring("'gat' is not known here"));
    CHECK_THAT(refusal("[[suppression]]\nreason = \"x\"\n"), ContainsSubstring("needs 'leak'"));
    CHECK_THAT(refusal("[[suppression]]\nleak = \"x\"\nuntil = \"soon\"\n"), ContainsSubstring("is no date"));
    CHECK_THAT(refusal("[gate\n"), ContainsSubstring(":1: "));
    CHECK_THROWS_AS(read_gate_file("/nowhere/vramtrace.toml"), std::invalid_argument);
}

TEST_CASE("suppression files of LeakSanitizer", "[gate]") {
    const Written file("# known\nleak:libfoo.so\n\n  leak:Cache::*  \n");
    const auto list = read_suppressions(file.path);
    REQUIRE(list.size() == 2);
    CHECK(list[0].pattern == "libfoo.so");
    CHECK(list[1].pattern == "Cache::*");
    const Written wrong("race:foo\n");
    CHECK_THROWS_AS(read_suppressions(wrong.path), std::invalid_argument);
}
