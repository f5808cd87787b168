// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramtrace::simulator {

// Memory that another process can open: its pages are moved to an anonymous file (memfd), which the other process
// finds under /proc/PID/fd. The contents stay.
struct SharedMemory {
    static constexpr uint64_t kMagic = 0x52545256'304d4953;
    uint64_t magic;
    int32_t pid;
    int32_t descriptor;
    uint64_t inode;
    uint64_t offset;  // of the piece in the file
    uint64_t bytes;   // of the piece
    uint64_t file_bytes;
    int32_t device;
    int32_t unused;
};
static_assert(sizeof(SharedMemory) <= 64, "must fit the driver's handles");

// Shares the pages [block, block + block_bytes) and describes the piece in them. False if the system refuses.
bool share_block(uint64_t block, uint64_t block_bytes, uint64_t piece, uint64_t piece_bytes, int device,
                 SharedMemory& out);
// The pages went back: nothing new can open them.
void forget_shared_block(uint64_t block, uint64_t block_bytes);
// Maps the file; {address of the file's start, its bytes} or {0, 0}.
struct OpenedMemory {
    uint64_t address;
    uint64_t bytes;
};
OpenedMemory open_shared(const SharedMemory& shared);

// A descriptor of `bytes` of shared memory, or -1. Never exceeds RLIMIT_FSIZE (that would kill the program).
int make_shared_file(uint64_t bytes);

}  // namespace vramtrace::simulator
