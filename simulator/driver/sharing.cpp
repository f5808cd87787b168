// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/sharing.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "simulator/address_ranges.h"

namespace vramtrace::simulator {
namespace {

// Out of the way of programs that count on low descriptor numbers.
constexpr int kFirstDescriptor = 200;
constexpr size_t kCopyStep = 64 << 10;

struct SharedBlock {
    int descriptor;
    uint64_t bytes;
    uint64_t inode;
};

std::map<uint64_t, SharedBlock>& shared_blocks() {
    static auto* const blocks = new std::map<uint64_t, SharedBlock>;
    return *blocks;
}

uint64_t inode_of(int descriptor) {
    struct stat status {};
    return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

// Writes only what is not zero, so that untouched memory stays untouched.
bool copy_to_file(int descriptor, uint64_t from, uint64_t bytes) {
    static const char zeros[kCopyStep] = {};
    for (uint64_t done = 0; done < bytes; done += kCopyStep) {
        const size_t step = static_cast<size_t>(bytes - done < kCopyStep ? bytes - done : kCopyStep);
        const char* piece = reinterpret_cast<const char*>(from + done);
        if (std::memcmp(piece, zeros, step) != 0 &&
            pwrite(descriptor, piece, step, static_cast<off_t>(done)) != static_cast<ssize_t>(step)) {
            return false;
        }
    }
    return true;
}

}  // namespace

int make_shared_file(uint64_t bytes) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) {
        return -1;
    }
    const int low = memfd_create("simulated-cuda", MFD_CLOEXEC);
    if (low < 0) {
        return -1;
    }
    const int high = fcntl(low, F_DUPFD_CLOEXEC, kFirstDescriptor);
    const int descriptor = high >= 0 ? high : low;
    if (high >= 0) {
        close(low);
    }
    if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

bool share_block(uint64_t block, uint64_t block_bytes, uint64_t piece, uint64_t piece_bytes, int device,
                 SharedMemory& out) {
    auto found = shared_blocks().find(block);
    if (found == shared_blocks().end()) {
        const int descriptor = make_shared_file(block_bytes);
        if (descriptor < 0) {
            return false;
        }
        if (!copy_to_file(descriptor, block, block_bytes) ||
            mmap(reinterpret_cast<void*>(block), block_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 descriptor, 0) == MAP_FAILED) {
            close(descriptor);
            return false;
        }
        found = shared_blocks().emplace(block, SharedBlock{descriptor, block_bytes, inode_of(descriptor)}).first;
    }
    out = {};
    out.magic = SharedMemory::kMagic;
    out.pid = getpid();
    out.descriptor = found->second.descriptor;
    out.inode = found->second.inode;
    out.offset = piece - block;
    out.bytes = piece_bytes;
    out.file_bytes = block_bytes;
    out.device = device;
    return true;
}

void forget_shared_block(uint64_t block, uint64_t) {
    const auto found = shared_blocks().find(block);
    if (found == shared_blocks().end()) {
        return;
    }
    make_private_again(block, found->second.bytes);
    if (inode_of(found->second.descriptor) == found->second.inode) {
        close(found->second.descriptor);
    }
    shared_blocks().erase(found);
}

OpenedMemory open_shared(const SharedMemory& shared) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", shared.pid, shared.descriptor);
    const int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        return {0, 0};
    }
    struct stat status {};
    OpenedMemory opened{0, 0};
    if (fstat(descriptor, &status) == 0 && status.st_ino == shared.inode &&
        static_cast<uint64_t>(status.st_size) == shared.file_bytes) {
        void* mapped = mmap(nullptr, shared.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (mapped != MAP_FAILED) {
            opened = {reinterpret_cast<uint64_t>(mapped), shared.file_bytes};
        }
    }
    close(descriptor);
    return opened;
}

}  // namespace vramtrace::simulator
