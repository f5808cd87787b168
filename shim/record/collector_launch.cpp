// SPDX-License-Identifier: Apache-2.0
#include "shim/record/collector_launch.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <initializer_list>

#include "shim/capture/maps_reader.h"
#include "trace/ring/system_calls.h"
#include "trace/trace_name.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace vramtrace::shim {

namespace {

namespace sys = trace::sys;

constexpr size_t kStackBytes = 32U << 10;
constexpr size_t kMostVariables = 64;

// Everything the two children need, in one mapping: they share our memory, so it also carries the answer back.
struct Launch {
    const char* path;
    const char* directory;
    const char* arguments[4];
    const char* environment[kMostVariables + 1];
    char home[sizeof Settings::home + 8];
    int error;  // errno value of what went wrong; 0 once the helper's exec has succeeded
    alignas(4096) char intermediate_stack[kStackBytes];
    char helper_stack[kStackBytes];
};

struct KernelSignalAction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    uint64_t mask;
};

struct DirectoryEntry {  // linux_dirent64
    uint64_t inode;
    int64_t next;
    unsigned short record_bytes;
    unsigned char type;
    char name[1];
};

// In the helper: its descriptor table is its own copy.
void close_all_descriptors() {
    if (syscall(SYS_close_range, 0U, ~0U, 0) == 0) return;  // Linux 5.9
    const int list = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY, 0));
    if (list < 0) {
        for (int descriptor = 0; descriptor < 65536; ++descriptor) sys::close(descriptor);
        return;
    }
    alignas(DirectoryEntry) char buffer[2048];
    // Closing changes the list: begin again until a pass has found nothing to close.
    for (bool closed = true; closed;) {
        closed = false;
        syscall(SYS_lseek, list, 0, SEEK_SET);
        long got;
        while ((got = syscall(SYS_getdents64, list, buffer, sizeof buffer)) > 0) {
            for (long at = 0; at < got;) {
                const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
                at += entry->record_bytes;
                int descriptor = 0;
                const char* digit = entry->name;
                for (; *digit >= '0' && *digit <= '9'; ++digit) descriptor = descriptor * 10 + (*digit - '0');
                if (digit == entry->name || *digit != '\0' || descriptor == list) continue;
                sys::close(descriptor);
                closed = true;
            }
        }
    }
    sys::close(list);
}

void raise_soft_limits() {
    // The job's own limits are for the job: what its owner may have is what the hard limit says.
    for (const int resource : {RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA}) {
        rlimit64 limit{};
        if (syscall(SYS_prlimit64, 0, resource, nullptr, &limit) != 0) continue;
        limit.rlim_cur = limit.rlim_max;
        syscall(SYS_prlimit64, 0, resource, &limit, nullptr);
    }
}

int run_helper(void* argument) {
    auto* launch = static_cast<Launch*>(argument);
    syscall(SYS_setsid);
    // Before the mask is opened: no handler of the job may run in here. Ignored signals would stay so over exec.
    const KernelSignalAction default_action{};
    for (int signal = 1; signal <= 64; ++signal) {
        syscall(SYS_rt_sigaction, signal, &default_action, nullptr, sizeof(uint64_t));
    }
    close_all_descriptors();
    for (int descriptor = 0; descriptor < 3; ++descriptor) {
        syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    }
    raise_soft_limits();
    unsigned char all_processors[1024];
    std::memset(all_processors, 0xff, sizeof all_processors);
    syscall(SYS_sched_setaffinity, 0, sizeof all_processors, all_processors);  // the cpuset still holds
    const sched_param ordinary{};
    syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &ordinary);
    syscall(SYS_setpriority, PRIO_PROCESS, 0, 0);
    syscall(SYS_umask, 077);
    if (syscall(SYS_chdir, launch->directory) != 0) {
        launch->error = errno;
        syscall(SYS_exit_group, 127);
    }
    const uint64_t none = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
    syscall(SYS_execve, launch->path, launch->arguments, launch->environment);
    launch->error = errno;
    syscall(SYS_exit_group, 127);
    return 127;
}

int run_intermediate(void* argument) {
    auto* launch = static_cast<Launch*>(argument);
    // Returns when the helper has executed the collector, or given up.
    if (clone(run_helper, launch->helper_stack + kStackBytes, CLONE_VM | CLONE_VFORK, launch) < 0)
        launch->error = errno;
    syscall(SYS_exit_group, 0);
    return 0;
}

void fill(Launch& launch, const char* path, const char* directory, const Settings& settings) {
    launch.path = path;
    launch.directory = directory;
    launch.arguments[0] = path;
    launch.arguments[1] = "--directory";
    launch.arguments[2] = directory;
    size_t count = 0;
    launch.environment[count++] = "PATH=/usr/local/bin:/usr/bin:/bin";
    if (settings.home[0] != '\0') {
        std::memcpy(launch.home, "HOME=", 5);
        std::memcpy(launch.home + 5, settings.home, strlen(settings.home) + 1);
        launch.environment[count++] = launch.home;
    }
    for (size_t at = 0; at < settings.given_bytes && count < kMostVariables; at += strlen(settings.given + at) + 1) {
        launch.environment[count++] = settings.given + at;
    }
}

// Directory of the file that this code was loaded from. Not by dladdr: that takes the loader's lock, which a thread that
// waits for us may hold.
bool own_directory(char* path, size_t path_bytes) {
    char* buffer = static_cast<char*>(mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (buffer == MAP_FAILED) return false;
    bool found = false;
    {
        MapsReader maps(buffer, 16384);
        Mapping mapping;
        const auto own = reinterpret_cast<uintptr_t>(&run_helper);
        while (!found && maps.is_open() && maps.next(mapping)) {
            if (own < mapping.start || own >= mapping.end) continue;
            size_t length = mapping.name_bytes;
            while (length > 0 && mapping.name[length - 1] != '/') --length;
            if (length == 0 || length >= path_bytes) break;
            std::memcpy(path, mapping.name, length);
            path[length] = '\0';
            found = true;
        }
    }
    munmap(buffer, 16384);
    return found;
}

bool is_executable(const char* path) {
    return syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

}  // namespace

const char* find_collector(const Settings& settings, char* path, size_t path_bytes) {
    const trace::KeepErrno keep_errno;
    path[0] = '\0';
    const char* given = settings.collector.c_str();
    if (std::strcmp(given, "0") == 0) return "switched off by VRAMTRACE_COLLECTOR=0";
    if (given[0] != '\0') {
        const size_t length = strlen(given);
        if (length >= path_bytes || given[0] != '/' || !is_executable(given)) {
            return "VRAMTRACE_COLLECTOR is not the absolute path of a program";
        }
        std::memcpy(path, given, length + 1);
        return nullptr;
    }
    if (!own_directory(path, path_bytes)) return "the place of libvramtrace.so is unknown";
    const size_t length = strlen(path);
    for (const char* place :
         {"vramtrace-collect", "../libexec/vramtrace/vramtrace-collect", "../bin/vramtrace-collect"}) {
        const size_t bytes = strlen(place) + 1;
        if (length + bytes > path_bytes) continue;
        std::memcpy(path + length, place, bytes);
        if (is_executable(path)) return nullptr;
    }
    path[0] = '\0';
    return "vramtrace-collect was not found beside libvramtrace.so";
}

int launch_collector(const char* path, const char* directory, const Settings& settings) {
    const trace::KeepErrno keep_errno;
    void* memory = mmap(nullptr, sizeof(Launch), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return ENOMEM;
    auto* launch = static_cast<Launch*>(memory);
    fill(*launch, path, directory, settings);
    int error = 0;
    {
        // The children inherit the mask: no handler of the job runs in them.
        const trace::BlockSignals block;
        const int child =
            clone(run_intermediate, launch->intermediate_stack + kStackBytes, CLONE_VM | CLONE_VFORK, launch);
        if (child < 0) {
            error = errno;
        } else {
            siginfo_t status{};
            long result;
            do result = syscall(SYS_waitid, P_PID, child, &status, WEXITED | __WALL, nullptr);
            while (result < 0 && errno == EINTR);
            error = launch->error;
        }
    }
    munmap(memory, sizeof(Launch));
    return error;
}

}  // namespace vramtrace::shim
