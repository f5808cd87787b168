// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/syscall.h>
#include <sys/uio.h>

#include <cstring>

#include "shim/capture/raw_calls.h"

// Copies memory of this process that may vanish meanwhile (another thread may dlclose the module that we look at).
namespace vramtrace::shim {

// False if not all of it could be read. The kernel does the copying, so a page that goes away is an answer, not a crash.
// Where a sandbox forbids process_vm_readv the first and the last byte are probed, then the copy is made here.
inline bool safe_copy(void* to, uintptr_t from, size_t bytes) {
    if (bytes == 0) return true;
    if (from + bytes < from) return false;
    const iovec local{to, bytes};
    const iovec remote{reinterpret_cast<void*>(from), bytes};
    const long copied = raw::call(SYS_process_vm_readv, raw::call(SYS_getpid), reinterpret_cast<long>(&local), 1,
                                  reinterpret_cast<long>(&remote), 1);
    if (copied == static_cast<long>(bytes)) return true;
    constexpr long kNotPermitted = -1, kNoSuchCall = -38, kNoSuchProcess = -3;
    if (copied != kNotPermitted && copied != kNoSuchCall && copied != kNoSuchProcess) return false;
    if (!raw::readable(from) || (bytes >= 8 && !raw::readable(from + bytes - 8))) return false;
    memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return true;
}

}  // namespace vramtrace::shim
