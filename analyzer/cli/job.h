// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// THE JOB: the user's command as our child, with nothing between it and the terminal.
//
// It stays in our process group, so the terminal's ^C, ^\ and ^Z reach it by themselves (the kernel sends those to the
// whole group); what somebody sends to us alone is passed on. We block everything and wait, so no signal can end us
// before the job has ended.
namespace vramtrace::cli {

struct Job {
    std::vector<std::string> command;                              // looked up in PATH as execvp does
    std::vector<std::pair<std::string, std::string>> environment;  // set for the job, on top of ours
};

struct JobEnd {
    int start_error = 0;  // errno of exec or fork: the job never ran
    bool forked = false;  // false with start_error: we could not even make a process
    pid_t pid = 0;
    uint64_t start_time = 0;  // field 22 of /proc/PID/stat
    int exit_code = -1;
    int signal = 0;  // that killed it, 0 = it exited
    bool core_dumped = false;
    uint64_t started_realtime = 0, ended_realtime = 0;  // ns
    uint64_t started_monotonic = 0, ended_monotonic = 0;
    uint64_t max_rss_bytes = 0;
    double user_seconds = 0, system_seconds = 0;
};

// Runs the job to its end. `started` is called once it exists. The calling process has one thread; afterwards its
// signals are as before.
JobEnd run_job(const Job& job, const std::function<void(const JobEnd&)>& started);

// The shell's way to say it in one number: the exit code, 128 + signal, 126 or 127.
int shell_code(const JobEnd& end);

// From now on SIGHUP, SIGINT, SIGQUIT and SIGTERM end us at once, but as the job ended.
void let_signals_finish(const JobEnd& end);

// Ends this process as the job ended: same code, or killed by the same signal (without a core of its own).
[[noreturn]] void end_like(const JobEnd& end);

}  // namespace vramtrace::cli
