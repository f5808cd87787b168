// SPDX-License-Identifier: Apache-2.0
// The creating half of ring_file.h: what runs in the job.
#include <sys/mman.h>
#include <sys/vfs.h>

#include <cstring>

#include "trace/ring/definition_record.h"
#include "trace/ring/file_space.h"
#include "trace/ring/ring_file.h"
#include "trace/ring/ring_writer.h"
#include "trace/ring/system_calls.h"
#include "trace/test_point.h"

namespace vramtrace::trace {

namespace {

struct DirectoryEntry {  // linux_dirent64
    uint64_t inode;
    int64_t next;
    unsigned short record_bytes;
    unsigned char type;
    char name[1];
};

int limit_error(const Space& space, uint64_t bytes) {
    if (space.directory_limit_bytes == 0 || space.directory == nullptr) return 0;
    return directory_bytes(space.directory) + bytes > space.directory_limit_bytes ? EDQUOT : 0;
}

// A fresh file of `bytes`, mapped with `mapped_bytes` of address space; nothing stays if it fails.
int create_mapped(const char* path, uint64_t bytes, size_t mapped_bytes, const Space& space, void*& mapping,
                  DefinitionFileFacts* facts) {
    if (const int error = limit_error(space, bytes)) return error;
    const int descriptor = sys::open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (descriptor < 0) return errno;
    VRAMTRACE_TEST_POINT("file.created");
    syscall(SYS_fchmod, descriptor, 0600);  // whatever the umask was
    int error = allocate_space(descriptor, 0, bytes, space.disk_floor_bytes);
    if (error == 0) {
        VRAMTRACE_TEST_POINT("file.allocated");
        mapping = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
        if (mapping == MAP_FAILED) error = errno;
        if (error == 0) error = make_resident(descriptor, 0, mapping, bytes);
        // A fork's child must not write into its parent's trace, and core dumps need not carry it.
        if (error == 0 && madvise(mapping, mapped_bytes, MADV_DONTFORK) != 0) error = errno;
        if (mapping != MAP_FAILED) madvise(mapping, mapped_bytes, MADV_DONTDUMP);
        if (error != 0 && mapping != MAP_FAILED) munmap(mapping, mapped_bytes);
    }
    if (error == 0 && facts != nullptr) {
        struct stat status {};
        if (fstat(descriptor, &status) == 0) {
            facts->device = status.st_dev;
            facts->inode = status.st_ino;
        }
    }
    sys::close(descriptor);
    if (error != 0) sys::unlink(path);
    return error;
}

void fill_format(FormatHeader& format, size_t header_bytes) {
    format.major = kFormatMajor;
    format.minor = kFormatMinor;
    format.byte_order = kByteOrder;
    format.word_bytes = sizeof(void*);
    format.header_bytes = static_cast<uint32_t>(header_bytes);
}

// Last of all: a reader that sees the magic sees a whole header.
void publish_magic(FormatHeader& format, const char (&magic)[8]) {
    uint64_t word;
    std::memcpy(&word, magic, sizeof word);
    VRAMTRACE_TEST_POINT("file.header");
    // release, pairs with the acquire in check_format (ring_file.cpp).
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(format.magic)).store(word, std::memory_order_release);
    VRAMTRACE_TEST_POINT("file.magic");
}

}  // namespace

int create_ring_segment(const char* path, const ProcessIdentity& identity, uint32_t segment, uint32_t slot_count,
                        const Space& space, RingHeader*& header) {
    const KeepErrno keep_errno;
    const BlockSignals block;
    const uint64_t bytes = kRingHeaderBytes + uint64_t{slot_count} * sizeof(Slot);
    void* mapping = nullptr;
    if (const int error = create_mapped(path, bytes, bytes, space, mapping, nullptr)) return error;
    header = static_cast<RingHeader*>(mapping);  // the pages are zero, which is what its atomics start with
    fill_format(header->format, kRingHeaderBytes);
    header->identity = identity;
    header->slot_bytes = sizeof(Slot);
    header->slot_count = slot_count;
    header->segment = segment;
    publish_magic(header->format, kRingMagic);
    return 0;
}

int create_definitions(const char* path, const ProcessIdentity& identity, size_t maximum_bytes, const Space& space,
                       DefinitionFileHeader*& header, DefinitionFileFacts& facts) {
    const KeepErrno keep_errno;
    const BlockSignals block;
    const size_t length = strlen(path);
    if (length >= sizeof facts.path) return ENAMETOOLONG;
    uint64_t capacity = DefinitionTable::kGrowthStep;
    maximum_bytes = (maximum_bytes + 4095) & ~size_t{4095};
    if (maximum_bytes < capacity) maximum_bytes = capacity;
    void* mapping = nullptr;
    int error = 0;
    for (;;) {
        error = create_mapped(path, kDefinitionFileHeaderBytes + capacity, kDefinitionFileHeaderBytes + maximum_bytes,
                              space, mapping, &facts);
        // A limit on address space or locked memory: take less, down to what is on disk at once.
        if ((error != ENOMEM && error != EAGAIN) || maximum_bytes <= capacity) break;
        maximum_bytes = maximum_bytes / 4 < capacity ? capacity : maximum_bytes / 4 & ~size_t{4095};
    }
    if (error != 0) return error;
    std::memcpy(facts.path, path, length + 1);
    facts.maximum_bytes = maximum_bytes;
    facts.disk_floor_bytes = space.disk_floor_bytes;
    header = static_cast<DefinitionFileHeader*>(mapping);
    fill_format(header->format, kDefinitionFileHeaderBytes);
    header->identity = identity;
    header->tail.store(kFirstRecord, std::memory_order_relaxed);
    header->capacity.store(capacity, std::memory_order_relaxed);
    publish_magic(header->format, kDefinitionMagic);
    return 0;
}

bool release_drained_slots(RingHeader* header) {
    const KeepErrno keep_errno;
    return munmap(reinterpret_cast<char*>(header) + kRingHeaderBytes, size_t{header->slot_count} * sizeof(Slot)) == 0;
}

uint64_t directory_bytes(const char* directory) {
    const int descriptor = sys::open(directory, O_RDONLY | O_DIRECTORY);
    if (descriptor < 0) return 0;
    uint64_t sum = 0;
    alignas(DirectoryEntry) char buffer[2048];
    for (;;) {
        const long got = syscall(SYS_getdents64, descriptor, buffer, sizeof buffer);
        if (got <= 0) break;
        for (long at = 0; at < got;) {
            const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
            struct stat facts {};
            if (syscall(SYS_newfstatat, descriptor, entry->name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISREG(facts.st_mode)) {
                sum += static_cast<uint64_t>(facts.st_blocks) * 512;
            }
            at += entry->record_bytes;
        }
    }
    sys::close(descriptor);
    return sum;
}

bool is_local_file_system(const char* path) {
    static constexpr uint32_t kRemote[] = {
        0x00006969,                          // NFS
        0x0000517B, 0xFF534D42, 0xFE534D42,  // SMB, CIFS, SMB2
        0x0BD00BD0,                          // Lustre
        0x47504653,                          // GPFS
        0x00C36400,                          // Ceph
        0x19830326,                          // BeeGFS
        0x65735546,                          // FUSE (virtiofs too): sshfs, gcsfuse, s3fs, …
        0x01021997,                          // 9p
        0x6B414653, 0x5346414F, 0x73757245,  // AFS, OpenAFS, Coda
        0x20030528,                          // OrangeFS
        0x7461636F, 0x01161970,              // OCFS2, GFS2
        0x786F4256,                          // VirtualBox shared folder
        0xAAD7AAEA,                          // PanFS
    };
    struct statfs facts {};
    if (syscall(SYS_statfs, path, &facts) != 0) return true;
    for (const uint32_t type : kRemote) {
        if (static_cast<uint32_t>(facts.f_type) == type) return false;
    }
    return true;
}

uint64_t free_bytes(const char* path) {
    struct statfs facts {};
    if (syscall(SYS_statfs, path, &facts) != 0) return 0;
    return facts.f_bavail * static_cast<uint64_t>(facts.f_frsize != 0 ? facts.f_frsize : facts.f_bsize);
}

}  // namespace vramtrace::trace
