// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/preload.h"
#include "analyzer/cli/read_trace.h"
#include "analyzer/cli/trace_directory.h"
#include "tests/support/catch.h"
#include "tests/support/scratch_directory.h"

using namespace vramtrace;

namespace {

// The exit code of the program, its words going nowhere.
int code_of(std::vector<std::string> arguments) {
    const pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout) == nullptr || freopen("/dev/null", "w", stderr) == nullptr) _exit(99);
        arguments.insert(arguments.begin(), "vramtrace");
        std::vector<char*> pointers;
        for (std::string& word : arguments) pointers.push_back(word.data());
        setenv("XDG_CACHE_HOME", "/dev/null", 1);  // no symbol cache, above all not the user's
        _exit(cli::run_program(static_cast<int>(arguments.size()), pointers.data()));
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What it says on stderr.
std::string words_of(std::vector<std::string> arguments) {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("stderr");
    const pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout) == nullptr || freopen(path.c_str(), "w", stderr) == nullptr) _exit(99);
        arguments.insert(arguments.begin(), "vramtrace");
        std::vector<char*> pointers;
        for (std::string& word : arguments) pointers.push_back(word.data());
        setenv("XDG_CACHE_HOME", "/dev/null", 1);  // no symbol cache, above all not the user's
        _exit(cli::run_program(static_cast<int>(arguments.size()), pointers.data()));
    }
    waitpid(pid, nullptr, 0);
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("what is wrong with the question is said in one plain line") {
    CHECK(words_of({"report", "--sort", "colour"}) ==
          "vramtrace: --sort: 'colour' is none of bytes, churn, count, peak; see vramtrace --help\n");
    CHECK(words_of({"report", "-n", "0"}) ==
          "vramtrace: --limit: '0' is no number of rows from 1 on; see vramtrace --help\n");
    CHECK(words_of({"reprot", "x"}) == "vramtrace: 'reprot' is no command of vramtrace; see vramtrace --help\n");
    // Escape sequences in what somebody named stay text.
    CHECK(words_of({"report", "/no\x1b[31m\nsuch"}) == "vramtrace: /no\\x1b[31m\\nsuch does not exist\n");
}

TEST_CASE("exit codes for what is wrong with the question or with the input") {
    test::ScratchDirectory scratch;
    CHECK(code_of({"--version"}) == 0);
    CHECK(code_of({"--help"}) == 0);
    CHECK(code_of({"report", "--help"}) == 0);
    CHECK(code_of({}) == 2);
    CHECK(code_of({"frobnicate"}) == 2);
    CHECK(code_of({"report", "--sort", "colour"}) == 2);
    CHECK(code_of({"report", "-n", "0"}) == 2);
    CHECK(code_of({"report", "/no/such/trace"}) == 3);
    CHECK(code_of({"dump", scratch.path()}) == 3);
    CHECK(code_of({"symbolize", scratch.path()}) == 3);

    // An option with a value takes one, not the trace behind it too: each of these finds the directory and nothing in it.
    CHECK(code_of({"report", "--debug-dir", "/no/such", scratch.path()}) == 3);
    CHECK(words_of({"report", "--debug-dir", "/no/such", scratch.path()}) ==
          "vramtrace: " + scratch.path() + " holds no trace\n");

    const std::string foreign = scratch.file("h.1.2.0.trace");
    std::ofstream(foreign) << std::string(4096, 'x');
    CHECK(code_of({"report", foreign}) == 4);
    CHECK(code_of({"report", scratch.path()}) == 4);
    std::ofstream(scratch.file("empty.1.2.0.trace")).close();
    CHECK(code_of({"dump", scratch.file("empty.1.2.0.trace")}) == 4);
}

TEST_CASE("a value for LD_PRELOAD has our library first, each other once") {
    CHECK(cli::preload_value("/a.so", nullptr) == "/a.so");
    CHECK(cli::preload_value("/a.so", "") == "/a.so");
    CHECK(cli::preload_value("/a.so", "/b.so:/c.so") == "/a.so:/b.so:/c.so");
    CHECK(cli::preload_value("/a.so", " /b.so  /a.so:") == "/a.so:/b.so");
}

TEST_CASE("what cannot be preloaded into is known before") {
    test::ScratchDirectory scratch;
    CHECK(cli::preload_obstacle("/bin/sh").empty());
    CHECK(cli::preload_obstacle("no-such-command").empty());
    const std::string program = scratch.file("static");
    if (std::system(("echo 'int main(void){return 0;}' | cc -static -x c - -o " + program + " 2>/dev/null").c_str()) ==
        0) {
        CHECK_THAT(cli::preload_obstacle(program), ContainsSubstring("statically linked"));
    }
    std::ofstream(scratch.file("script")) << "#!/bin/sh\n";
    CHECK(cli::preload_obstacle(scratch.file("script")).empty());
}

TEST_CASE("names of fresh directories are plain and new") {
    test::ScratchDirectory scratch;
    CHECK(cli::fresh_directory_name("/opt/my app/train it.sh", 42) == "vramtrace-train-it.sh-42");
    std::string made = scratch.file("vramtrace-x-1");
    CHECK_FALSE(cli::prepare_directory(made, false));
    CHECK_FALSE(cli::holds_trace(made));
    const std::string name = scratch.file("a file");
    std::ofstream(name) << "x";
    std::string taken = name;
    CHECK_THAT(cli::prepare_directory(taken, false).sentence, ContainsSubstring("is no directory"));
}
