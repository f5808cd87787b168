// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

// System calls without the C library: they leave errno alone and are no cancellation points, so that a capture cannot be
// noticed by the call around it. Answers are the kernel's: negative errno on failure.
namespace vramtrace::shim::raw {

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    long result;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall"
                 : "=a"(result)
                 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

inline int open_readonly(const char* path) {
    return static_cast<int>(call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC));
}
inline long read(int descriptor, void* buffer, size_t bytes) {
    return call(SYS_read, descriptor, reinterpret_cast<long>(buffer), static_cast<long>(bytes));
}
inline void close(int descriptor) {
    call(SYS_close, descriptor);
}
inline void sleep_ns(long nanoseconds) {
    const long duration[2] = {0, nanoseconds};
    call(SYS_nanosleep, reinterpret_cast<long>(duration));
}

// True if the 8 bytes at `address` can be read. The kernel copies the new mask in before it looks at `how`, and no `how`
// has this value: a bad address gives EFAULT, a good one EINVAL, and nothing changes either way. Every sandbox lets
// rt_sigprocmask pass, unlike process_vm_readv.
inline bool readable(uintptr_t address) {
    constexpr long kNoSuchHow = 0x7fff;
    constexpr long kFault = -14;
    constexpr uintptr_t kFirstPage = 4096;
    if (address < kFirstPage) return false;  // a null pointer is not looked at: it means "no mask given"
    return call(SYS_rt_sigprocmask, kNoSuchHow, static_cast<long>(address), 0, 8) != kFault;
}

// All signals wait while one of these lives: for the few moments in which a lock of ours is held.
class SignalsBlocked {
public:
    SignalsBlocked() {
        const uint64_t all = ~0ULL;
        call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, reinterpret_cast<long>(&all), reinterpret_cast<long>(&before_),
             8);
    }
    ~SignalsBlocked() { call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, reinterpret_cast<long>(&before_), 0, 8); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    uint64_t before_ = 0;
};

}  // namespace vramtrace::shim::raw
