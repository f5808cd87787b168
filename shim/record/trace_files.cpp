// SPDX-License-Identifier: Apache-2.0
#include "shim/record/trace_files.h"

#include <csignal>
#include <cstring>
#include <initializer_list>

#include "trace/ring/system_calls.h"
#include "trace/trace_name.h"

namespace vramtrace::shim {

namespace {

namespace sys = trace::sys;

constexpr char kSharedMemory[] = "/dev/shm";
constexpr char kSharedPrefix[] = "/dev/shm/vramtrace-";
constexpr uint64_t kAmpleSharedMemory = 2ULL << 30;  // a container's default of 64 MiB belongs to the job
constexpr uint32_t kMostCounters = 10000;

bool exists(const char* path) {
    struct stat facts {};
    return syscall(SYS_newfstatat, AT_FDCWD, path, &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

// Creates `path` and what is missing above it. 0 or an errno value.
int make_directories(char* path) {
    for (char* at = path + 1;; ++at) {
        if (*at != '/' && *at != '\0') continue;
        const char end = *at;
        *at = '\0';
        const long made = syscall(SYS_mkdirat, AT_FDCWD, path, 0700);
        const int error = made == 0 ? 0 : errno;
        *at = end;
        if (end == '\0') {
            if (error != EEXIST) return error;
            struct stat facts {};
            if (syscall(SYS_newfstatat, AT_FDCWD, path, &facts, 0) != 0) return errno;
            return S_ISDIR(facts.st_mode) ? 0 : ENOTDIR;
        }
        // What is above may exist and be closed to us, or be read-only: only the last one counts.
    }
}

bool make_absolute(char* path, size_t room, const char* relative) {
    const long length = syscall(SYS_getcwd, path, room);  // with its NUL
    if (length <= 1 || path[0] != '/') return false;
    auto used = static_cast<size_t>(length) - 1;
    if (used > 1) path[used++] = '/';
    const size_t bytes = strlen(relative) + 1;
    if (used + bytes > room) return false;
    std::memcpy(path + used, relative, bytes);
    return true;
}

// Ring in shared memory: the trace directory gets a line that says where.
int write_pointer(const char* path, const char* prefix) {
    const int descriptor = sys::open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (descriptor < 0) return errno;
    char line[256];
    const size_t bytes = strnlen(prefix, sizeof line - 1);
    std::memcpy(line, prefix, bytes);
    line[bytes] = '\n';
    const trace::BlockSignals block;
    const bool pending = trace::BlockSignals::is_pending(SIGXFSZ);
    const long written = sys::write(descriptor, line, bytes + 1);
    const int error = written == static_cast<long>(bytes + 1) ? 0 : written < 0 ? errno : ENOSPC;
    if (error == EFBIG && !pending) trace::BlockSignals::consume(SIGXFSZ);
    sys::close(descriptor);
    if (error != 0) sys::unlink(path);
    return error;
}

trace::RingHeader* create_segment(void* context, uint32_t index, uint32_t slot_count) {
    auto& recording = *static_cast<Recording*>(context);
    trace::RingHeader* header = nullptr;
    if (trace::ring_path(recording.prefix, index, recording.segment_path, sizeof recording.segment_path) == 0) {
        errno = ENAMETOOLONG;
        return nullptr;
    }
    const int error = trace::create_ring_segment(recording.segment_path, recording.identity, index, slot_count,
                                                 recording.space, header);
    errno = error;
    return error == 0 ? header : nullptr;
}

bool release_segment(void*, trace::RingHeader* segment) {
    return trace::release_drained_slots(segment);
}

// One attempt under one counter. EEXIST: somebody has a file of that name.
int create_under_counter(Recording& recording, bool in_shared_memory) {
    char stem[trace::kMaxStem];
    if (trace::trace_stem(recording.identity, stem, sizeof stem) == 0) return ENAMETOOLONG;
    char* path = recording.segment_path;  // nobody appends yet
    constexpr size_t kRoom = sizeof recording.segment_path;
    char* own = recording.prefix;
    const size_t directory = strlen(recording.directory);
    if (directory + 1 + strlen(stem) + 32 > sizeof recording.prefix) return ENAMETOOLONG;
    std::memcpy(own, recording.directory, directory);
    own[directory] = '/';
    std::memcpy(own + directory + 1, stem, strlen(stem) + 1);
    // A program that this one has exec'ed over may have left nothing but its container.
    for (const char* suffix : {trace::suffix::kContainer, trace::suffix::kWhere, trace::suffix::kRing}) {
        trace::suffixed_path(own, suffix, path, kRoom);
        if (exists(path)) return EEXIST;
    }
    char pointer[trace::kMaxStem + sizeof kSharedPrefix];
    if (in_shared_memory) {
        std::memcpy(pointer, kSharedPrefix, sizeof kSharedPrefix);
        std::memcpy(pointer + sizeof kSharedPrefix - 1, stem, strlen(stem) + 1);
        trace::suffixed_path(own, trace::suffix::kWhere, path, kRoom);
        if (const int error = write_pointer(path, pointer)) return error;
        std::memcpy(own, pointer, strlen(pointer) + 1);
    }
    trace::DefinitionFileHeader* definitions = nullptr;
    trace::suffixed_path(own, trace::suffix::kDefinitions, path, kRoom);
    const size_t maximum = recording.settings->definitions_limit;
    int error = trace::create_definitions(path, recording.identity, maximum, recording.space, definitions,
                                          recording.definition_facts);
    if (error == 0) {
        const trace::SegmentMaker maker{create_segment, release_segment, &recording};
        if (recording.chain.start(maker, recording.settings->buffer_limit, trace::kDefaultSlotCount)) {
            auto* full = &recording.chain.first()->losses[static_cast<size_t>(trace::Loss::DefinitionFull)];
            recording.definitions.attach(definitions, &recording.definition_facts, full);
            return 0;
        }
        error = errno != 0 ? errno : ENOMEM;
        sys::unlink(recording.definition_facts.path);  // its mapping stays: there is no second try but under EEXIST
    }
    if (in_shared_memory) {
        std::memcpy(own, recording.directory, directory);
        own[directory] = '/';
        std::memcpy(own + directory + 1, stem, strlen(stem) + 1);
        trace::suffixed_path(own, trace::suffix::kWhere, path, kRoom);
        sys::unlink(path);
    }
    return error;
}

}  // namespace

Refusal make_trace_directory(Recording& recording) {
    const char* pattern = recording.settings->directory.c_str();
    char* expanded = recording.segment_path;
    if (trace::expand_pattern(pattern, recording.identity, recording.settings->rank, expanded,
                              sizeof recording.segment_path) == 0) {
        return {"not recording: VRAMTRACE_DIR has an unknown placeholder: ", pattern, 0};
    }
    if (expanded[0] == '/') {
        std::memcpy(recording.directory, expanded, strlen(expanded) + 1);
    } else if (!make_absolute(recording.directory, sizeof recording.directory, expanded)) {
        return {"not recording: the working directory is unknown", nullptr, errno};
    }
    // "/x/" and "/x" are one directory, so that there is one collector for it.
    for (size_t length = strlen(recording.directory); length > 1 && recording.directory[length - 1] == '/';) {
        recording.directory[--length] = '\0';
    }
    if (const int error = make_directories(recording.directory)) {
        return {"not recording: cannot create the trace directory ", recording.directory, error};
    }
    recording.space.directory = recording.directory;
    recording.space.directory_limit_bytes = recording.settings->disk_limit;
    recording.space.disk_floor_bytes = recording.settings->disk_floor;
    return {};
}

RingPlace choose_ring_place(const char* directory) {
    const bool elsewhere =
        !trace::is_local_file_system(directory) && trace::free_bytes(kSharedMemory) >= kAmpleSharedMemory;
    return elsewhere ? RingPlace::SharedMemory : RingPlace::Directory;
}

Refusal create_trace_files(Recording& recording, RingPlace place) {
    int error = EEXIST;
    for (recording.identity.counter = 0; recording.identity.counter < kMostCounters; ++recording.identity.counter) {
        error = create_under_counter(recording, place == RingPlace::SharedMemory);
        if (error != EEXIST) break;
    }
    if (error == 0) return {};
    if (error == EDQUOT) return {"not recording: VRAMTRACE_DISK_LIMIT is reached in ", recording.directory, 0};
    return {"not recording: cannot create a trace in ", recording.directory, error};
}

}  // namespace vramtrace::shim
