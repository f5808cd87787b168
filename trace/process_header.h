// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// WHOSE TRACE THIS IS: the part that stands in front of every ring segment, definition file and container.
// Rules for readers of any version: the magic says what it is; a greater `major` is refused with one clear sentence; a
// greater `minor` is read (new fields lie after the known ones, `header_bytes` says where the content starts); no length
// found in a file is trusted before it was compared with the file's size.
namespace vramtrace::trace {

constexpr uint16_t kFormatMajor = 1;
constexpr uint16_t kFormatMinor = 0;
constexpr uint32_t kByteOrder = 0x01020304;

constexpr char kRingMagic[8] = {'V', 'R', 'A', 'M', 'R', 'I', 'N', 'G'};
constexpr char kDefinitionMagic[8] = {'V', 'R', 'A', 'M', 'D', 'E', 'F', 'S'};
constexpr char kContainerMagic[8] = {'V', 'R', 'A', 'M', 'T', 'R', 'C', 'E'};

struct FormatHeader {
    char magic[8] = {};
    uint16_t major = kFormatMajor;
    uint16_t minor = kFormatMinor;
    uint32_t byte_order = kByteOrder;
    uint32_t word_bytes = sizeof(void*);
    uint32_t header_bytes = 0;  // where the content (slots, records, blocks) starts
};
static_assert(sizeof(FormatHeader) == 24);

struct ProcessIdentity {
    uint32_t pid = 0;  // as its own PID namespace counts
    uint32_t parent_pid = 0;
    uint64_t start_time = 0;  // field 22 of /proc/self/stat, clock ticks since boot: (pid, start_time) names a process
    uint64_t pid_namespace = 0;   // inode of /proc/self/ns/pid
    uint64_t open_monotonic = 0;  // CLOCK_MONOTONIC, ns, when recording began: event times count on the same clock
    uint64_t open_realtime = 0;   // CLOCK_REALTIME, ns, at the same instant
    uint32_t counter = 0;         // 0 for a process's first trace, 1 after an exec in place, …
    uint32_t reserved = 0;
    char boot_id[40] = {};  // /proc/sys/kernel/random/boot_id, NUL-terminated
    char host[64] = {};     // uname nodename, NUL-terminated, cut if longer
};
static_assert(sizeof(ProcessIdentity) == 152);

// Why something is missing. Each has a counter; every report and the gate show those that are not 0.
enum class Loss : uint8_t {
    RingFull = 0,        // no room within the bounded wait and no further segment allowed: event lost
    Abandoned = 1,       // slot of a writer that died or stalled in the middle of it: event lost
    DefinitionFull = 2,  // table full or disk full: the event is kept, its stack (or name) is not
    StackNested = 3,     // captured inside a capture (signal handler): event kept without stack
    StackFailed = 4,     // unwinding was impossible: event kept without stack
    Stopped = 5,         // events after recording had stopped (limit reached, file gone)
    BeforeOpen = 6,      // events that could not be recorded because no ring could be created yet
    TooSmall = 7,        // no loss but a wish: allocations below VRAMTRACE_MIN_SIZE. Their releases are recorded.
    Count = 8,
};

// Fixed room for the losses and what collector and job tell each other; lives in shared memory, all fields atomic.
constexpr size_t kLossCounters = static_cast<size_t>(Loss::Count);

}  // namespace vramtrace::trace
