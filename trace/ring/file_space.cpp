// SPDX-License-Identifier: Apache-2.0
#include "trace/ring/file_space.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <cerrno>
#include <csignal>

#include "trace/ring/system_calls.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace vramtrace::trace {

namespace {

constexpr size_t kPage = 4096;
alignas(kPage) constexpr char kZeroPage[kPage] = {};

// For file systems without fallocate, and to have real blocks before the first store where nothing better is known.
int write_zeros(int descriptor, uint64_t offset, uint64_t bytes) {
    constexpr unsigned kParts = 32;
    iovec parts[kParts];
    while (bytes > 0) {
        unsigned count = 0;
        uint64_t sum = 0;
        for (; count < kParts && sum < bytes; ++count) {
            const uint64_t part = bytes - sum < kPage ? bytes - sum : kPage;
            parts[count] = {const_cast<char*>(kZeroPage), static_cast<size_t>(part)};
            sum += part;
        }
        const long written = syscall(SYS_pwritev, descriptor, parts, count, offset, 0);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        if (written == 0) return ENOSPC;
        offset += static_cast<uint64_t>(written);
        bytes -= static_cast<uint64_t>(written);
    }
    return 0;
}

}  // namespace

bool leaves_floor(int descriptor, uint64_t bytes, uint64_t floor_bytes) {
    struct statfs facts {};
    if (syscall(SYS_fstatfs, descriptor, &facts) != 0) return true;  // unknown: the allocation itself will tell
    const auto block = static_cast<uint64_t>(facts.f_frsize != 0 ? facts.f_frsize : facts.f_bsize);
    const uint64_t total = facts.f_blocks * block;
    if (total == 0) return true;  // file systems that do not count (ramfs)
    const uint64_t floor = floor_bytes < total / 100 ? floor_bytes : total / 100;
    return facts.f_bavail * block >= bytes + floor;
}

int allocate_space(int descriptor, uint64_t offset, uint64_t bytes, uint64_t floor_bytes) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + bytes > limit.rlim_cur) {
        return EFBIG;
    }
    if (!leaves_floor(descriptor, bytes, floor_bytes)) return ENOSPC;
    // Another thread may lower the limit right now: then the kernel raises SIGXFSZ at this thread, where it is blocked.
    const bool pending_before = BlockSignals::is_pending(SIGXFSZ);
    int error = 0;
    long result;
    do result = syscall(SYS_fallocate, descriptor, 0, offset, bytes);
    while (result < 0 && errno == EINTR);
    if (result < 0) {
        error = errno;
        if (error == EOPNOTSUPP || error == ENOSYS || error == EINVAL || error == ENODEV) {
            error = write_zeros(descriptor, offset, bytes);
        }
    }
    if (error == EFBIG && !pending_before) BlockSignals::consume(SIGXFSZ);
    return error;
}

int make_resident(int descriptor, uint64_t offset, void* mapping, uint64_t bytes) {
    if (madvise(mapping, bytes, MADV_POPULATE_WRITE) == 0) return 0;  // Linux 5.14
    if (errno != EINVAL) return errno == EFAULT ? ENOSPC : errno;
    // Older kernels cannot say "no space" to a store, only to a write.
    if (const int error = write_zeros(descriptor, offset, bytes)) return error;
    auto* page = static_cast<volatile char*>(mapping);
    for (uint64_t at = 0; at < bytes; at += kPage) page[at] = 0;
    return 0;
}

}  // namespace vramtrace::trace
