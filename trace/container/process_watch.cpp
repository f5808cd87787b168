// SPDX-License-Identifier: Apache-2.0
#include "trace/container/process_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace vramtrace::trace {
namespace {

// One read of a small file of /proc; the length, or 0.
size_t read_small(const char* path, char* buffer, size_t bytes) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t got = read(fd, buffer, bytes - 1);
    close(fd);
    if (got <= 0) return 0;
    buffer[got] = '\0';
    return static_cast<size_t>(got);
}

struct Stat {
    bool known = false;
    char state = '?';
    uint64_t start_time = 0;
};

Stat stat_of(uint32_t pid) {
    char path[64], text[2048];
    std::snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    Stat stat;
    if (read_small(path, text, sizeof(text)) == 0) return stat;
    // The name in parentheses may hold blanks and parentheses itself: count from the last one.
    const char* at = std::strrchr(text, ')');
    if (at == nullptr || at[1] != ' ') return stat;
    stat.state = at[2];
    for (int field = 2; field < 22 && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
    if (at == nullptr) return stat;
    stat.start_time = std::strtoull(at, nullptr, 10);
    stat.known = true;
    return stat;
}

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

}  // namespace

ProcessIdentity this_machine() {
    ProcessIdentity machine;
    read_small("/proc/sys/kernel/random/boot_id", machine.boot_id, sizeof(machine.boot_id));
    machine.boot_id[strcspn(machine.boot_id, "\n")] = '\0';
    struct stat status {};
    if (stat("/proc/self/ns/pid", &status) == 0) machine.pid_namespace = status.st_ino;
    return machine;
}

bool of_machine(const ProcessIdentity& process, const ProcessIdentity& machine) {
    return process.pid_namespace == machine.pid_namespace &&
           std::strncmp(process.boot_id, machine.boot_id, sizeof(process.boot_id)) == 0;
}

uint64_t start_time_of(uint32_t pid) {
    return stat_of(pid).start_time;
}

ProcessWatch::ProcessWatch(const ProcessIdentity& process) : process_(process) {
    pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));  // close-on-exec by definition
    // Only now, with the process pinned, does its start time say whether it is the one.
    const Stat stat = stat_of(process.pid);
    if (stat.known && !same(stat.start_time)) dead_ = true;
    if (!stat.known && pidfd_ < 0) dead_ = true;
}

ProcessWatch::~ProcessWatch() {
    if (pidfd_ >= 0) close(pidfd_);
}

// A job that had no /proc could not say when it started: then the pid must do.
bool ProcessWatch::same(uint64_t start_time) const {
    return process_.start_time == 0 || start_time == process_.start_time;
}

bool ProcessWatch::alive() {
    if (dead_) return false;
    if (pidfd_ >= 0) {
        pollfd poll_for = {pidfd_, POLLIN, 0};
        if (poll(&poll_for, 1, 0) == 1) dead_ = true;
        return !dead_;
    }
    const Stat stat = stat_of(process_.pid);
    dead_ = !stat.known || !same(stat.start_time) || stat.state == 'Z' || stat.state == 'X';
    return !dead_;
}

bool ProcessWatch::stopped() const {
    const Stat stat = stat_of(process_.pid);
    return stat.known && (stat.state == 'T' || stat.state == 't');
}

}  // namespace vramtrace::trace
