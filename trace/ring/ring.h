// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/event.h"
#include "trace/process_header.h"

// THE RING: one file per segment, shared between the job (many writers) and one collector, and readable by anybody
// after both are dead.
//
//   page 0        RingHeader
//   byte 4096 …   slot_count slots of 64 bytes (a power of two)
//
// A slot's first word (Event::sequence) says its state. With lap = ticket / slot_count, counted from 0:
//   2·lap      free for the writer of that lap          (fresh file: 0)
//   2·lap + 1  claimed: being filled
//   2·lap + 2  committed: readable; becomes "free for lap + 1" when the collector moves the tail past it
//   bit 63 set abandoned by the collector in that state: its writer died or stalled
//     abandoned | even   nobody is in the slot: a writer of a later lap may claim it
//     abandoned | odd    "retired": its stalled writer may still be filling it. Nobody uses the slot until that writer
//                        finds its commit refused and makes it abandoned | even. Later laps pass over it: the
//                        collector writes the lap it has passed into the state (abandoned | 2·lap + 1), so that the
//                        writer of that lap's ticket, coming late, sees that the ticket is void.
// A ticket that ends without an event is "void" (abandoned, or passed over). Its writer writes the event again under
// another ticket and counts `rewritten`; what is left, void − rewritten, are events lost.
//
// A writer: closed? room (head − tail < slot_count − kWriterSlack)? → ticket = head.fetch_add(1) → claim by CAS
// (2·lap → 2·lap+1) → fill → commit by CAS (2·lap+1 → 2·lap+2). A CAS that fails means the collector gave the slot up:
// the writer writes again under a new ticket. Because room is asked before the ticket, each ticket taken can be written.
//
// Segments: when a ring is full, the writer that notices closes it (kHeadClosed in `head`, so every later fetch_add sees
// it) and appends a segment file of the same shape, up to the configured limit. Order over segments is order of
// segments: whoever took a ticket in the old one did so before the close. A ticket's number in the process is
// first_ticket + (head value of its fetch_add).
namespace vramtrace::trace {

constexpr uint64_t kHeadClosed = 1ULL << 63;
constexpr uint64_t kSlotAbandoned = 1ULL << 63;
constexpr uint32_t kWriterSlack = 1024;  // ≥ threads that can be between room check and commit
constexpr uint32_t kInFlightSlots = 256;
constexpr size_t kRingHeaderBytes = 4096;
constexpr uint32_t kDefaultSlotCount = 1U << 18;  // 16 MiB of slots

struct RingHeader {
    FormatHeader format;       // magic = kRingMagic, header_bytes = kRingHeaderBytes
    ProcessIdentity identity;  // the same in every segment of a process
    uint32_t slot_bytes = sizeof(Event);
    uint32_t slot_count = 0;
    uint32_t segment = 0;  // 0, 1, 2, …
    uint32_t reserved = 0;
    uint64_t first_ticket = 0;  // tickets handed out by the segments before this one

    // Written by the job; relaxed unless said otherwise.
    // head: next ticket of this segment, with kHeadClosed; seq_cst fetch_add and fetch_or.
    alignas(64) std::atomic<uint64_t> head{0};
    alignas(64) std::atomic<uint64_t> losses[kLossCounters];  // only segment 0's are counted up

    // Written by the collector.
    // tail: slots before it are durable in the container; release, writers acquire.
    alignas(64) std::atomic<uint64_t> tail{0};
    std::atomic<uint64_t> heartbeat{0};  // CLOCK_MONOTONIC ns of the collector's last round; 0 = never seen one
    std::atomic<uint32_t> collector_pid{0};
    std::atomic<uint32_t> abandoned{0};  // void tickets it met in this segment (counted in Loss::Abandoned too)

    // Releases that have been recorded and whose real call has not returned yet: ticket + 1, or 0. A process that dies
    // inside cuMemFree leaves its ticket here: "in flight". Claimed by CAS(0 → ticket + 1), given back by a store of 0.
    alignas(64) std::atomic<uint64_t> in_flight[kInFlightSlots];

    // Written by the job.
    // closed_at: tickets this segment handed out, once it is closed; 0 = not closed; release.
    alignas(64) std::atomic<uint64_t> closed_at{0};
    // Segment 0 only:
    std::atomic<uint64_t> rewritten{0};        // void tickets whose event was written under another one
    std::atomic<uint64_t> first_loss_time{0};  // CLOCK_MONOTONIC ns of the first event lost; 0 = none
    std::atomic<uint32_t> segments{0};         // that exist or existed; release, after their headers
    // errno of the last segment that could not be made, 0 = none. EDQUOT: VRAMTRACE_DISK_LIMIT; ENOSPC: the disk or its
    // floor; EFBIG: RLIMIT_FSIZE.
    std::atomic<int32_t> append_error{0};
};
static_assert(offsetof(RingHeader, head) == 256 && offsetof(RingHeader, losses) == 320);
static_assert(offsetof(RingHeader, tail) == 384 && offsetof(RingHeader, in_flight) == 448);
static_assert(offsetof(RingHeader, closed_at) == 448 + 8 * kInFlightSlots);
static_assert(sizeof(RingHeader) <= kRingHeaderBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// Front of a .defs file; the definition image (trace/definition.h) starts at byte kDefinitionFileHeaderBytes.
constexpr size_t kDefinitionFileHeaderBytes = 4096;
struct DefinitionFileHeader {
    FormatHeader format;  // magic = kDefinitionMagic
    ProcessIdentity identity;
    alignas(64) std::atomic<uint64_t> tail{0};  // bytes of the image handed out (reserved by CAS; never above capacity)
    std::atomic<uint64_t> capacity{0};          // bytes of the image that exist on disk; grows in steps
};
static_assert(sizeof(DefinitionFileHeader) <= kDefinitionFileHeaderBytes);

}  // namespace vramtrace::trace
