// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/job.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

#include "analyzer/cli/exit_codes.h"

namespace vramtrace::cli {

namespace {

uint64_t now(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

// Fields of /proc/PID/stat from the third on: the second, the name, may hold blanks and parentheses.
std::vector<std::string> stat_fields(pid_t pid) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(in, line);
    const size_t name_end = line.rfind(')');
    std::vector<std::string> fields;
    if (name_end == std::string::npos) return fields;
    std::istringstream rest(line.substr(name_end + 1));
    for (std::string field; rest >> field;) fields.push_back(field);
    return fields;
}

uint64_t start_time_of(pid_t pid) {
    const auto fields = stat_fields(pid);
    return fields.size() > 19 ? std::strtoull(fields[19].c_str(), nullptr, 10) : 0;
}

// A signal that the job or a process below it sent went to our whole group (kill(0, …)): the job had it already.
bool comes_from_job(pid_t sender, pid_t job) {
    for (int step = 0; step < 64 && sender > 1; ++step) {
        if (sender == job) return true;
        const auto fields = stat_fields(sender);
        if (fields.size() < 2) return false;
        sender = static_cast<pid_t>(std::strtol(fields[1].c_str(), nullptr, 10));
    }
    return false;
}

bool is_terminal_stop(int signal) {
    return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

bool has_controlling_terminal() {
    const int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (terminal >= 0) close(terminal);
    return terminal >= 0;
}

sigset_t awaited_signals() {
    sigset_t set;
    sigfillset(&set);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPIPE}) sigdelset(&set, fault);
    return set;
}

[[noreturn]] void become(const Job& job, const sigset_t& mask, const struct sigaction& child_action, int report) {
    for (const auto& [name, value] : job.environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : job.command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    sigaction(SIGCHLD, &child_action, nullptr);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR) {
    }
    _exit(kCommandNotFound);
}

// What happened to the job since we last looked. True when it has ended and `end` is filled.
bool collect(pid_t pid, JobEnd& end, int& stopped_by) {
    for (;;) {
        int status = 0;
        rusage usage{};
        // As PID 1 of a container we inherit strangers and must bury them too.
        const pid_t who = wait4(getpid() == 1 ? -1 : pid, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage);
        if (who < 0 && errno == EINTR) continue;
        if (who <= 0) return false;
        if (who != pid || WIFCONTINUED(status)) continue;
        if (WIFSTOPPED(status)) {
            stopped_by = WSTOPSIG(status);
            continue;
        }
        if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
        end.core_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
        end.max_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
        end.user_seconds =
            static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) / 1e6;
        end.system_seconds =
            static_cast<double>(usage.ru_stime.tv_sec) + static_cast<double>(usage.ru_stime.tv_usec) / 1e6;
        return true;
    }
}

void wait_for(pid_t pid, const sigset_t& awaited, JobEnd& end) {
    for (;;) {
        int stopped_by = 0;
        if (collect(pid, end, stopped_by)) return;
        if (is_terminal_stop(stopped_by) && has_controlling_terminal()) {
            // The user's ^Z: the shell waits for us, so we must stop as well. `fg` and `bg` wake the whole group.
            kill(getpid(), SIGSTOP);
        }
        siginfo_t info{};
        const int signal = sigwaitinfo(&awaited, &info);
        if (signal < 0 || signal == SIGCHLD) continue;
        const bool from_kernel = info.si_code > 0;  // the terminal: the job got it too
        const bool from_job = info.si_code == SI_USER && comes_from_job(info.si_pid, pid);
        if (from_kernel || from_job) continue;
        if (info.si_code == SI_QUEUE) {
            sigqueue(pid, signal, info.si_value);
        } else {
            kill(pid, signal);
        }
    }
}

volatile sig_atomic_t g_code = 0;
volatile sig_atomic_t g_signal = 0;

[[noreturn]] void end_now(int code, int signal_number) {
    if (signal_number != 0) {
        prctl(PR_SET_DUMPABLE, 0);  // the job's core is the one of interest
        signal(signal_number, SIG_DFL);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, signal_number);
        sigprocmask(SIG_UNBLOCK, &set, nullptr);
        kill(getpid(), signal_number);
    }
    _exit(code);  // PID 1 cannot kill itself
}

void on_impatience(int) {
    end_now(g_code, g_signal);
}

}  // namespace

JobEnd run_job(const Job& job, const std::function<void(const JobEnd&)>& started) {
    JobEnd end;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        end.start_error = errno;
        return end;
    }
    // Whoever started us may ignore SIGCHLD, and then there would be nothing to wait for.
    struct sigaction standard {};
    struct sigaction child_action {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, &child_action);
    const sigset_t awaited = awaited_signals();
    sigset_t mask;
    sigprocmask(SIG_BLOCK, &awaited, &mask);

    end.started_realtime = now(CLOCK_REALTIME);
    end.started_monotonic = now(CLOCK_MONOTONIC);
    const pid_t pid = fork();
    if (pid == 0) become(job, mask, child_action, ends[1]);
    const int fork_error = errno;
    close(ends[1]);
    if (pid < 0) {
        end.start_error = fork_error;
    } else {
        end.forked = true;
        end.pid = pid;
        end.start_time = start_time_of(pid);
        int error = 0;
        ssize_t got = 0;
        while ((got = read(ends[0], &error, sizeof error)) < 0 && errno == EINTR) {
        }
        if (got == sizeof error) end.start_error = error;
        if (end.start_error == 0) started(end);
        wait_for(pid, awaited, end);
    }
    close(ends[0]);
    end.ended_realtime = now(CLOCK_REALTIME);
    end.ended_monotonic = now(CLOCK_MONOTONIC);
    sigaction(SIGCHLD, &child_action, nullptr);
    // A ^C that ended the job has been waiting for us as well; it must not end us now.
    const timespec at_once{};
    while (sigtimedwait(&awaited, nullptr, &at_once) > 0) {
    }
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    return end;
}

int shell_code(const JobEnd& end) {
    if (end.start_error != 0) {
        if (!end.forked) return kRunFailed;
        return end.start_error == ENOENT ? kCommandNotFound : kCannotExecute;
    }
    return end.signal != 0 ? 128 + end.signal : end.exit_code;
}

void let_signals_finish(const JobEnd& end) {
    g_code = shell_code(end);
    g_signal = end.signal;
    for (const int impatience : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
        if (std::signal(impatience, on_impatience) == SIG_IGN) std::signal(impatience, SIG_IGN);  // nohup
    }
}

void end_like(const JobEnd& end) {
    std::fflush(nullptr);
    end_now(shell_code(end), end.signal);
}

}  // namespace vramtrace::cli
