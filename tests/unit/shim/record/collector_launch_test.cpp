// SPDX-License-Identifier: Apache-2.0
#include "shim/record/collector_launch.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "shim/record/recorder.h"
#include "tests/unit/shim/record/child_process.h"
#include "trace/ring/system_calls.h"

using namespace vramtrace;
using namespace vramtrace::shim;
using namespace vramtrace::test;

namespace {

// A collector that writes down what it finds and ends.
std::string make_collector(const ScratchDirectory& scratch, const std::string& body) {
    const std::string path = scratch.file("collector");
    std::ofstream(path) << "#!/bin/sh\n" << body;
    chmod(path.c_str(), 0755);
    return path;
}

std::string wait_for_file(const std::string& path) {
    for (unsigned i = 0; i < 1000; ++i) {
        if (std::filesystem::exists(path)) {
            std::ifstream in(path);
            return {std::istreambuf_iterator<char>(in), {}};
        }
        usleep(10'000);
    }
    return "";
}

uint64_t put() {
    trace::Event event;
    event.kind = trace::EventKind::DeviceAlloc;
    return record(event, OpensRing::Yes, WithStack::No);
}

std::atomic<int> child_signals{0};

}  // namespace

TEST_CASE("the job does not notice its collector, the collector inherits nothing of the job") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    const std::string collector = make_collector(scratch, R"sh(
        { echo "arguments: $*"; echo "directory: $(pwd)"
          echo "descriptors:" $(ls /proc/$$/fd | tr '\n' ' ') "end"
          echo "standard input: $(readlink /proc/$$/fd/0)"
          grep -E 'Sig(Blk|Ign)|Cpus_allowed:' /proc/self/status
          echo "session: $(cut -d' ' -f6 /proc/$$/stat) pid: $$"; umask
          env | sort; } > seen.new 2>&1
        mv seen.new seen
    )sh");
    const auto ended = in_child([&] {
        setenv("VRAMTRACE_DIR", directory.c_str(), 1);
        setenv("VRAMTRACE_COLLECTOR", collector.c_str(), 1);
        setenv("LD_LIBRARY_PATH", "/some/where", 1);
        setenv("SECRET_TOKEN", "x", 1);
        struct sigaction action {};
        action.sa_handler = [](int) { ++child_signals; };
        sigaction(SIGCHLD, &action, nullptr);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        sigset_t some;
        sigemptyset(&some);
        sigaddset(&some, SIGTERM);
        sigprocmask(SIG_BLOCK, &some, nullptr);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(0, &one);
        sched_setaffinity(0, sizeof one, &one);
        const int mine = dup2(0, 77);  // not close-on-exec
        if (put() != 0) return 1;
        // Neither a child to wait for, nor a signal, nor a changed mask; and our descriptor is still there.
        if (waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD) return 2;
        if (wait_for_file(directory + "/seen").empty()) return 3;
        usleep(50'000);
        if (waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD) return 4;
        if (child_signals != 0) return 5;
        sigset_t now;
        sigprocmask(SIG_BLOCK, nullptr, &now);
        if (!sigismember(&now, SIGTERM) || sigismember(&now, SIGUSR1)) return 6;
        return fcntl(mine, F_GETFD) == 0 ? 0 : 7;
    });
    REQUIRE(ended.exit_code == 0);
    const std::string seen = wait_for_file(directory + "/seen");
    INFO(seen);
    CHECK_THAT(seen, ContainsSubstring("arguments: --directory " + directory + "\n"));
    CHECK_THAT(seen, ContainsSubstring("directory: " + directory + "\n"));
    CHECK(seen.find("/dev/null\n") != std::string::npos);
    // The shell itself has its script and the redirected output open; nothing of the job's may be among them.
    CHECK(seen.find("SECRET_TOKEN") == std::string::npos);
    CHECK(seen.find("LD_LIBRARY_PATH") == std::string::npos);
    CHECK(seen.find("LD_PRELOAD") == std::string::npos);
    CHECK_THAT(seen, ContainsSubstring("VRAMTRACE_DIR=" + directory));
    CHECK_THAT(seen, ContainsSubstring("SigBlk:\t0000000000000000"));
    CHECK_THAT(seen, ContainsSubstring("SigIgn:\t0000000000000000"));
    CHECK_THAT(seen, ContainsSubstring("0077\n"));
    unsigned processors = 0;
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (unsigned i = 0; i < CPU_SETSIZE; ++i) processors += CPU_ISSET(i, &allowed);
    if (processors == 2) CHECK_THAT(seen, ContainsSubstring("Cpus_allowed:\t3\n"));
    const auto session = seen.find("session: ");
    REQUIRE(session != std::string::npos);
    const std::string line = seen.substr(session, seen.find('\n', session) - session);
    const std::string number = line.substr(9, line.find(' ', 9) - 9);
    CHECK(line == "session: " + number + " pid: " + number);
    CHECK(LeftTrace(directory).fact(trace::fact::kUnloadable).empty());
}

TEST_CASE("a collector that cannot be started is a fact of the trace, and recording goes on") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    std::string collector = scratch.file("nowhere");
    SECTION("not there") {}
    SECTION("not a program") {
        std::ofstream(collector) << "\x7f garbage";
        chmod(collector.c_str(), 0755);
    }
    SECTION("relative") {
        collector = "collector";
    }
    SECTION("not beside our library") {
        collector = "";
    }
    const auto ended = in_child([&] {
        setenv("VRAMTRACE_DIR", directory.c_str(), 1);
        setenv("VRAMTRACE_COLLECTOR", collector.c_str(), 1);
        if (put() != 0 || put() != 1) return 1;
        return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD ? 0 : 2;
    });
    REQUIRE(ended.exit_code == 0);
    REQUIRE(ended.stderr_text.empty());
    const LeftTrace left(directory);
    REQUIRE(left.events.size() == 2);
    REQUIRE_FALSE(left.fact(trace::fact::kUnloadable).empty());
}

TEST_CASE("a collector whose heartbeat stays away is started again, and not for each event") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    const std::string collector = make_collector(scratch, "echo started >> starts\n");
    const auto ended = in_child([&] {
        setenv("VRAMTRACE_DIR", directory.c_str(), 1);
        setenv("VRAMTRACE_COLLECTOR", collector.c_str(), 1);
        for (unsigned i = 0; i < 650; ++i) {
            if (put() == kNotRecorded) return 1;
            usleep(10'000);
        }
        usleep(300'000);
        return 0;
    });
    REQUIRE(ended.exit_code == 0);
    const std::string starts = wait_for_file(directory + "/starts");
    REQUIRE(starts == "started\nstarted\n");
}

TEST_CASE("a process that adopts orphans gets no collector until half of its buffer is used") {
    // The collector is looked for beside the program that this code is in, as it is beside libvramtrace.so.
    const std::string beside =
        std::filesystem::read_symlink("/proc/self/exe").parent_path().string() + "/vramtrace-collect";
    if (std::filesystem::exists(beside)) {
        WARN("left out: " << beside << " exists");
        return;
    }
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    std::filesystem::create_symlink(make_collector(scratch, "echo started >> starts\n"), beside);
    const auto ended = in_child([&] {
        setenv("VRAMTRACE_DIR", directory.c_str(), 1);
        unsetenv("VRAMTRACE_COLLECTOR");
        setenv("VRAMTRACE_BUFFER_LIMIT", "4M", 1);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        for (unsigned i = 0; i < 30'000; ++i) put();
        usleep(1'100'000);
        put();
        if (waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD) return 1;
        if (std::filesystem::exists(directory + "/starts")) return 2;
        for (unsigned i = 0; i < 5'000; ++i) put();
        usleep(1'100'000);
        put();
        return wait_for_file(directory + "/starts").empty() ? 3 : 0;
    });
    unlink(beside.c_str());
    REQUIRE(ended.exit_code == 0);
    REQUIRE_THAT(LeftTrace(directory).fact(trace::fact::kUnloadable), ContainsSubstring("put off"));
}

TEST_CASE("limits of the job are not the collector's") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("t");
    std::filesystem::create_directory(directory);
    const std::string collector = make_collector(scratch, "ulimit -n > seen.new\nmv seen.new seen\n");
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    REQUIRE(in_child([&] {
                const rlimit limit{20, before.rlim_max};
                setrlimit(RLIMIT_NOFILE, &limit);
                Settings settings{};
                const char* none = nullptr;
                parse_settings(&none, settings);
                return launch_collector(collector.c_str(), directory.c_str(), settings);
            }).exit_code == 0);
    REQUIRE(wait_for_file(directory + "/seen") == std::to_string(before.rlim_max) + "\n");
}
