// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "analyzer/cli/commands.h"
#include "tests/support/catch.h"
#include "tests/support/scratch_directory.h"

using namespace vramtrace;
namespace files = std::filesystem;

namespace {

std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A library that does nothing, to be preloaded: what `run` does with the job does not depend on it.
const std::string& empty_library() {
    static test::ScratchDirectory scratch;
    static const std::string path = [] {
        const std::string made = scratch.file("libvramtrace.so");
        REQUIRE(std::system(("echo 'int nothing;' | cc -shared -fPIC -x c - -o " + made).c_str()) == 0);
        return made;
    }();
    return path;
}

[[noreturn]] void become_program(std::vector<std::string> arguments) {
    std::vector<char*> pointers;
    for (std::string& word : arguments) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    setenv("XDG_CACHE_HOME", "/dev/null", 1);  // no symbol cache, above all not the user's
    const int code = cli::run_program(static_cast<int>(arguments.size()), pointers.data());
    _exit(code);
}

// The program in a child of the test, in a directory of its own.
struct Run {
    explicit Run(std::vector<std::string> arguments, const std::function<void()>& before = {}) {
        arguments.insert(arguments.begin(), "vramtrace");
        const std::string library = empty_library();
        pid = fork();
        REQUIRE(pid >= 0);
        if (pid != 0) return;
        const int out = open(scratch.file("stdout").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        const int error = open(scratch.file("stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(out, STDOUT_FILENO);
        dup2(error, STDERR_FILENO);
        close(out);
        close(error);
        if (chdir(scratch.path().c_str()) != 0) _exit(99);
        if (before) before();
        become_program(std::move(arguments));
    }
    ~Run() {
        if (!waited_) kill(pid, SIGKILL);
        wait();
    }

    int wait() {
        if (!waited_) {
            while (waitpid(pid, &status_, 0) < 0 && errno == EINTR) {
            }
        }
        waited_ = true;
        return status_;
    }
    int exit_code() {
        const int status = wait();
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::string out() const { return content(scratch.file("stdout")); }
    std::string error() const { return content(scratch.file("stderr")); }
    bool wait_for_output(const std::string& text) const {
        for (int i = 0; i < 1000; ++i) {
            if (out().find(text) != std::string::npos) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }

    test::ScratchDirectory scratch;
    pid_t pid = -1;

private:
    bool waited_ = false;
    int status_ = 0;
};

std::vector<std::string> job(std::vector<std::string> command, std::vector<std::string> options = {}) {
    std::vector<std::string> all = {"run", "--library", empty_library()};
    all.insert(all.end(), options.begin(), options.end());
    all.emplace_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

std::vector<std::string> shell(const std::string& script, std::vector<std::string> options = {}) {
    return job({"/bin/sh", "-c", script}, std::move(options));
}

size_t count_of(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("the job's exit code and output are the job's, and one line on stderr says what came of it") {
    Run run(shell("echo hello; echo oops >&2; exit 7"));
    CHECK(run.exit_code() == 7);
    CHECK(run.out() == "hello\n");
    CHECK(run.error() ==
          "oops\nvramtrace: nothing was recorded, there is no trace: neither /bin/sh nor a process that it started "
          "allocated GPU memory, or a line above says why it could not be recorded\n");
    // Nothing is left behind where there was nothing to keep.
    CHECK_FALSE(files::exists(run.scratch.file("vramtrace-sh-" + std::to_string(run.pid))));
}

TEST_CASE("--quiet leaves stderr to the job") {
    Run run(shell("echo oops >&2", {"--quiet"}));
    CHECK(run.exit_code() == 0);
    CHECK(run.error() == "oops\n");
}

TEST_CASE("killed by a signal, it kills itself by the same") {
    for (const int signal : {SIGTERM, SIGKILL, SIGSEGV, SIGINT}) {
        Run run(shell("kill -" + std::to_string(signal) + " $$"));
        const int status = run.wait();
        INFO(signal);
        REQUIRE(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == signal);
        CHECK_FALSE(WCOREDUMP(status));
    }
}

TEST_CASE("126, 127 and 125 as env(1) gives them") {
    {
        Run run(job({"./no-such-command"}));
        CHECK(run.exit_code() == 127);
        CHECK_THAT(run.error(), ContainsSubstring("vramtrace: ./no-such-command: No such file or directory"));
    }
    {
        Run run(job({"no-such-command-in-path"}));
        CHECK(run.exit_code() == 127);
    }
    {
        Run run(job({"/etc/passwd"}));
        CHECK(run.exit_code() == 126);
        CHECK_THAT(run.error(), ContainsSubstring("Permission denied"));
    }
    {
        Run run({"run", "--library", "/no/such/library.so", "--", "/bin/true"});
        CHECK(run.exit_code() == 125);
    }
    {
        Run run(job({"/bin/true"}, {"-o", "/proc/nowhere"}));
        CHECK(run.exit_code() == 125);
        CHECK_THAT(run.error(), ContainsSubstring("/proc/nowhere"));
    }
    {
        Run run({"run"});
        CHECK(run.exit_code() == 2);
    }
    {
        Run run({"run", "--no-such-option", "--", "/bin/true"});
        CHECK(run.exit_code() == 2);
    }
}

TEST_CASE("the job's words are not read as ours") {
    {
        Run run(job({"/bin/echo", "-o", "x", "--quiet", "--", "--help", "run"}));
        CHECK(run.exit_code() == 0);
        CHECK(run.out() == "-o x --quiet -- --help run\n");
    }
    {
        Run run({"run", "--library", empty_library(), "/bin/echo", "--json", "-n"});
        CHECK(run.exit_code() == 0);
        CHECK(run.out() == "--json -n\n");
    }
}

TEST_CASE("what is sent to run alone is passed on, once") {
    for (const auto& [number, name] :
         {std::pair(SIGTERM, "TERM"), std::pair(SIGINT, "INT"), std::pair(SIGHUP, "HUP"), std::pair(SIGUSR1, "USR1")}) {
        Run run(shell(std::string("n=0; trap 'n=$((n+1))' ") + name +
                      "; echo ready; i=0; while [ $i -lt 10 ]; do sleep 0.05; i=$((i+1)); done; exit $n"));
        REQUIRE(run.wait_for_output("ready"));
        kill(run.pid, number);
        INFO(name);
        CHECK(run.exit_code() == 1);
    }
}

TEST_CASE("a signal that ends the job ends run by the same, not before it") {
    Run run(
        shell("trap 'sleep 0.3; echo cleaned up; trap - TERM; kill -TERM $$' TERM; echo ready; while :; do sleep 0.05; "
              "done"));
    REQUIRE(run.wait_for_output("ready"));
    kill(run.pid, SIGTERM);
    const int status = run.wait();
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGTERM);
    CHECK_THAT(run.out(), ContainsSubstring("cleaned up"));
}

TEST_CASE("the job starts with the signals that we were started with") {
    Run run(shell("grep -E 'SigBlk|SigIgn' /proc/self/status"), [] {
        signal(SIGHUP, SIG_IGN);   // nohup
        signal(SIGCHLD, SIG_IGN);  // some daemons; there would be nothing to wait for
    });
    CHECK(run.exit_code() == 0);
    CHECK_THAT(run.out(), ContainsSubstring("SigBlk:\t0000000000000000"));
    const uint64_t ignored = std::stoull(run.out().substr(run.out().find("SigIgn:\t") + 8), nullptr, 16);
    CHECK((ignored & (1ULL << (SIGHUP - 1))) != 0);
}

TEST_CASE("the terminal's ^C reaches the job once, and run outlives it") {
    int terminal = -1;
    const std::vector<std::string> words = shell(
        "n=0; trap 'n=$((n+1))' INT; echo ready; i=0; while [ $i -lt 10 ]; do sleep 0.05; i=$((i+1)); done; exit "
        "$((n+40))");
    empty_library();
    test::ScratchDirectory scratch;
    const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
    REQUIRE(pid >= 0);
    if (pid == 0) {
        if (chdir(scratch.path().c_str()) != 0) _exit(99);
        std::vector<std::string> arguments = words;
        arguments.insert(arguments.begin(), "vramtrace");
        become_program(std::move(arguments));
    }
    std::string seen;
    bool sent = false;
    char buffer[512];
    for (ssize_t got = 0; (got = read(terminal, buffer, sizeof buffer)) > 0;) {
        seen.append(buffer, static_cast<size_t>(got));
        if (sent || seen.find("ready") == std::string::npos) continue;
        sent = true;
        REQUIRE(write(terminal, "\x03", 1) == 1);
    }
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    close(terminal);
    INFO(seen);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 41);
    CHECK(count_of(seen, "vramtrace:") == 1);
}

TEST_CASE("the job finds our library first and keeps what was preloaded before") {
    Run run(shell("echo \"$LD_PRELOAD|$VRAMTRACE_DIR\"", {"-o", "tr%%ace"}),
            [] { setenv("LD_PRELOAD", (empty_library() + " libm.so.6").c_str(), 1); });
    CHECK(run.exit_code() == 0);
    const std::string directory = files::canonical(run.scratch.path()).string();
    CHECK(run.out() == empty_library() + ":libm.so.6|" + directory + "/tr%%ace\n");
}

TEST_CASE("a library whose path LD_PRELOAD cannot carry is reached through a link of our own") {
    test::ScratchDirectory scratch;
    const std::string directory = scratch.file("with blank:and colon");
    files::create_directories(directory);
    files::copy_file(empty_library(), directory + "/libvramtrace.so");
    Run run({"run", "--library", directory + "/libvramtrace.so", "--", "/bin/sh", "-c",
             "echo \"$LD_PRELOAD\"; grep -c 'and colon' /proc/$$/maps"});
    CHECK(run.exit_code() == 0);
    const std::string link = run.out().substr(0, run.out().find('\n'));
    CHECK(link.find_first_of(" :") == std::string::npos);
    CHECK(files::read_symlink(link) == directory + "/libvramtrace.so");
    struct stat status {};
    REQUIRE(lstat(files::path(link).parent_path().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    CHECK(run.out().substr(link.size()) != "\n0\n");  // it is really loaded
    files::remove_all(files::path(link).parent_path());
}

TEST_CASE("run.json tells what nobody else can know") {
    Run run(shell("exit 3", {"-o", "kept"}));
    CHECK(run.exit_code() == 3);
    const auto record = nlohmann::json::parse(content(run.scratch.file("kept/run.json")));
    CHECK(record.at("schema_version") == 1);
    CHECK(record.at("command") == nlohmann::json({"/bin/sh", "-c", "exit 3"}));
    CHECK(record.at("running") == false);
    CHECK(record.at("exit_code") == 3);
    CHECK(record.at("signal").is_null());
    CHECK(record.at("pid") > 1);
    CHECK(record.at("start_time") > 0);
    CHECK(record.at("max_rss_bytes") > 0);
    CHECK(record.at("end_monotonic") > record.at("start_monotonic"));

    Run killed(shell("kill -KILL $$", {"-o", "kept"}));
    killed.wait();
    const auto second = nlohmann::json::parse(content(killed.scratch.file("kept/run.json")));
    CHECK(second.at("signal") == 9);
    CHECK(second.at("exit_code").is_null());
}

TEST_CASE("a finished trace is not written into, unless it may be removed") {
    const auto make_trace = [] {
        files::create_directory("old");
        std::ofstream("old/host.1.2.0.trace") << "x";
        std::ofstream("old/run.json") << "{}";
        std::ofstream("old/notes.txt") << "mine";
    };
    {
        Run run(shell("true", {"-o", "old"}), make_trace);
        CHECK(run.exit_code() == 125);
        CHECK_THAT(run.error(), ContainsSubstring("holds a trace already"));
        CHECK(files::exists(run.scratch.file("old/host.1.2.0.trace")));
    }
    Run run(shell("true", {"-o", "old", "--overwrite"}), make_trace);
    CHECK(run.exit_code() == 0);
    CHECK_FALSE(files::exists(run.scratch.file("old/host.1.2.0.trace")));
    CHECK(content(run.scratch.file("old/notes.txt")) == "mine");
}

TEST_CASE("--framework-detail sets its variables, says so and keeps them in run.json") {
    Run run(
        shell("echo $XLA_PYTHON_CLIENT_ALLOCATOR $XLA_PYTHON_CLIENT_PREALLOCATE", {"--framework-detail", "-o", "t"}),
        [] {
            unsetenv("XLA_PYTHON_CLIENT_ALLOCATOR");
            setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "true", 1);
        });
    CHECK(run.exit_code() == 0);
    CHECK(run.out() == "cuda_async true\n");
    CHECK_THAT(run.error(), ContainsSubstring("JAX: XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async, which changes"));
    CHECK_THAT(run.error(), ContainsSubstring("XLA_PYTHON_CLIENT_PREALLOCATE=true, as you have set it"));
    const auto detail = nlohmann::json::parse(content(run.scratch.file("t/run.json"))).at("framework_detail");
    REQUIRE(detail.size() == 2);
    CHECK(detail[0].at("by_user") == false);
    CHECK(detail[1].at("by_user") == true);
    Run without(shell("echo $XLA_PYTHON_CLIENT_ALLOCATOR", {"-o", "t"}),
                [] { unsetenv("XLA_PYTHON_CLIENT_ALLOCATOR"); });
    CHECK(without.exit_code() == 0);
    CHECK(without.out() == "\n");
    CHECK(nlohmann::json::parse(content(without.scratch.file("t/run.json"))).at("framework_detail").empty());
}

TEST_CASE("several runs into one directory leave the first one's record alone") {
    Run first(shell("echo ready; while [ ! -e stop ]; do sleep 0.02; done; exit 5", {"-o", "shared"}));
    REQUIRE(first.wait_for_output("ready"));
    const std::string directory = first.scratch.file("shared");
    // The job may have come as far before its record is there.
    for (int i = 0; i < 3000 && content(directory + "/run.json").empty(); ++i) usleep(10'000);
    const std::string record = content(directory + "/run.json");
    REQUIRE(nlohmann::json::parse(record).at("running") == true);
    Run second(shell("exit 6"), [&] { setenv("VRAMTRACE_DIR", directory.c_str(), 1); });
    CHECK(second.exit_code() == 6);
    CHECK(content(directory + "/run.json") == record);
    std::ofstream(first.scratch.file("stop")).close();
    CHECK(first.exit_code() == 5);
    CHECK(nlohmann::json::parse(content(directory + "/run.json")).at("exit_code") == 5);
}
