// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>

// System calls by number: unlike the C library's functions they are no cancellation points (a thread of the job must not
// be cancelled in the middle of our work), and no other preloaded library stands between. They return −1 and set errno;
// whoever runs inside the job keeps errno with KeepErrno.
namespace vramtrace::trace {

class KeepErrno {
public:
    KeepErrno() : value_(errno) {}
    ~KeepErrno() { errno = value_; }
    KeepErrno(const KeepErrno&) = delete;
    KeepErrno& operator=(const KeepErrno&) = delete;

private:
    int value_;
};

namespace sys {

inline int open(const char* path, int flags, unsigned mode = 0) {
    long result;
    do result = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
    while (result < 0 && errno == EINTR);
    return static_cast<int>(result);
}
// Not repeated on EINTR: on Linux the descriptor is gone either way.
inline void close(int descriptor) {
    syscall(SYS_close, descriptor);
}
inline long read(int descriptor, void* buffer, size_t bytes) {
    long result;
    do result = syscall(SYS_read, descriptor, buffer, bytes);
    while (result < 0 && errno == EINTR);
    return result;
}
inline long write(int descriptor, const void* buffer, size_t bytes) {
    long result;
    do result = syscall(SYS_write, descriptor, buffer, bytes);
    while (result < 0 && errno == EINTR);
    return result;
}
inline long pwrite(int descriptor, const void* buffer, size_t bytes, uint64_t offset) {
    long result;
    do result = syscall(SYS_pwrite64, descriptor, buffer, bytes, offset);
    while (result < 0 && errno == EINTR);
    return result;
}
inline int unlink(const char* path) {
    return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

// Whole small file into `buffer`, NUL-terminated; bytes without the NUL, or −1.
inline long read_file(const char* path, char* buffer, size_t buffer_bytes) {
    const int descriptor = open(path, O_RDONLY);
    if (descriptor < 0) return -1;
    size_t used = 0;
    while (used + 1 < buffer_bytes) {
        const long got = read(descriptor, buffer + used, buffer_bytes - 1 - used);
        if (got <= 0) break;
        used += static_cast<size_t>(got);
    }
    close(descriptor);
    buffer[used] = '\0';
    return static_cast<long>(used);
}

inline void sleep_nanoseconds(long nanoseconds) {
    timespec time{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    syscall(SYS_nanosleep, &time, nullptr);
}
inline uint64_t clock_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);  // vDSO; no cancellation point
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(time.tv_nsec);
}
inline uint64_t monotonic_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}

}  // namespace sys

// Blocks every signal of this thread while it does something that must not be left half done (a handler of the job may
// jump out). Raw call: pthread_sigmask leaves out the two signals that cancel and change ids.
class BlockSignals {
public:
    BlockSignals() {
        const uint64_t all = ~0ULL;
        syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &old_, sizeof old_);
    }
    ~BlockSignals() { syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &old_, nullptr, sizeof old_); }
    BlockSignals(const BlockSignals&) = delete;
    BlockSignals& operator=(const BlockSignals&) = delete;

    // Takes `signal` away if this thread raised it meanwhile; a signal that was pending before stays.
    static void consume(int signal) {
        const uint64_t set = 1ULL << (signal - 1);
        const timespec none{};
        syscall(SYS_rt_sigtimedwait, &set, nullptr, &none, sizeof set);
    }
    static bool is_pending(int signal) {
        uint64_t set = 0;
        syscall(SYS_rt_sigpending, &set, sizeof set);
        return (set & (1ULL << (signal - 1))) != 0;
    }

private:
    uint64_t old_ = 0;
};

}  // namespace vramtrace::trace
