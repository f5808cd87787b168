// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "trace/definition.h"
#include "trace/ring/ring.h"

// THE WRITING SIDE of a definition image (trace/definition.h), in the job, by any number of threads without a lock:
//
//   reserve: CAS body_bytes of the record at `tail` from 0 to the length; whoever meets a reserved record there helps:
//            CAS tail forward past it. A writer killed at any point leaves a record of known length, never a gap.
//   write:   kind, hash, body
//   publish: commit = kDefinitionCommitted (release)
//
// The file grows in steps: reopened by path (no descriptor is kept), compared with the file that was created, space
// allocated and made resident before `capacity` says so. A page that is not on disk is never touched.
namespace vramtrace::trace {

struct DefinitionPiece {
    const void* bytes = nullptr;
    size_t size = 0;
};

// What the table needs to know of its file; see create_definitions in ring_file.h.
struct DefinitionFileFacts {
    uint64_t device = 0, inode = 0;  // so that growing never touches another file of that name
    size_t maximum_bytes = 0;        // of the image: how much is mapped
    uint64_t disk_floor_bytes = 0;   // see Space
    char path[4096] = {};
};

// Usable when zero-filled (it lives in memory that is zero after a fork), then attach().
class DefinitionTable {
public:
    static constexpr size_t kGrowthStep = 1U << 20;

    // `file` is mapped read-write up to facts->maximum_bytes; `facts` and `full_counter` (Loss::DefinitionFull) must live
    // as long as the table. facts == nullptr: a table in memory of which file->capacity never grows (tests).
    void attach(DefinitionFileHeader* file, const DefinitionFileFacts* facts, std::atomic<uint64_t>* full_counter);

    bool attached() const { return file_.load(std::memory_order_relaxed) != nullptr; }

    // Appends a record whose body is the pieces one after the other. Id, or 0: body empty or longer than
    // kMaxDefinitionBytes, or no room (counted in full_counter). Async-signal-safe, keeps errno.
    DefinitionId append(DefinitionKind kind, std::span<const DefinitionPiece> pieces);
    DefinitionId append(DefinitionKind kind, std::initializer_list<DefinitionPiece> pieces) {
        return append(kind, std::span<const DefinitionPiece>(pieces.begin(), pieces.size()));
    }

    // Body of a record that append() has returned; for interning by comparison. Empty if `id` is none such.
    std::span<const std::byte> body(DefinitionId id) const;
    DefinitionKind kind(DefinitionId id) const;

private:
    DefinitionHeader* record(size_t offset) const;
    bool grow(size_t needed_bytes);
    bool extend_file(uint64_t old_capacity, uint64_t new_capacity);
    DefinitionId no_room();

    std::atomic<DefinitionFileHeader*> file_;  // release in attach, pairs with the acquire in append
    const DefinitionFileFacts* facts_;
    std::atomic<uint64_t>* full_counter_;
    std::atomic<uint32_t> growing_;     // 1 while a thread grows the file
    std::atomic<uint64_t> retry_time_;  // CLOCK_MONOTONIC ns before which growing is not tried again
};

}  // namespace vramtrace::trace
