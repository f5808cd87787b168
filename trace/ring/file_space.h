// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// SPACE FOR A MAPPED FILE, taken so that a later store into the mapping can neither kill the job (SIGBUS on a full disk,
// SIGXFSZ beyond RLIMIT_FSIZE) nor surprise others (the disk's last bytes).
namespace vramtrace::trace {

// What a call leaves to others: `floor_bytes`, or one per cent of the file system if that is less.
bool leaves_floor(int descriptor, uint64_t bytes, uint64_t floor_bytes);

// Backs [offset, offset + bytes) of the file by disk space. 0 or an errno value: EFBIG before the kernel could raise
// SIGXFSZ, ENOSPC also when the floor would be touched. Call with signals blocked.
int allocate_space(int descriptor, uint64_t offset, uint64_t bytes, uint64_t floor_bytes);

// Makes the pages of a shared mapping of that stretch resident and writable. 0 or an errno value. The stretch must be
// fresh: nothing is stored there yet, by nobody.
int make_resident(int descriptor, uint64_t offset, void* mapping, uint64_t bytes);

}  // namespace vramtrace::trace
