// SPDX-License-Identifier: Apache-2.0
#include "trace/ring/definition_table.h"

#include <cstring>

#include "trace/ring/definition_record.h"
#include "trace/ring/file_space.h"
#include "trace/ring/system_calls.h"
#include "trace/test_point.h"

namespace vramtrace::trace {

namespace {

constexpr uint64_t kLargestGrowth = 16 * DefinitionTable::kGrowthStep;
constexpr uint64_t kRetryNanoseconds = 1'000'000'000;
constexpr unsigned kWaitsForGrower = 2000;  // of 50 µs: 100 ms
constexpr long kWaitNanoseconds = 50'000;

std::atomic_ref<uint32_t> length_of(DefinitionHeader* record) {
    return std::atomic_ref<uint32_t>(record->body_bytes);
}

}  // namespace

void DefinitionTable::attach(DefinitionFileHeader* file, const DefinitionFileFacts* facts,
                             std::atomic<uint64_t>* full_counter) {
    facts_ = facts;
    full_counter_ = full_counter;
    file_.store(file, std::memory_order_release);  // pairs with the acquire in append and body
}

DefinitionHeader* DefinitionTable::record(size_t offset) const {
    auto* image = reinterpret_cast<char*>(file_.load(std::memory_order_acquire)) + kDefinitionFileHeaderBytes;
    return reinterpret_cast<DefinitionHeader*>(image + offset);
}

DefinitionId DefinitionTable::no_room() {
    if (full_counter_ != nullptr) full_counter_->fetch_add(1, std::memory_order_relaxed);
    return 0;
}

DefinitionId DefinitionTable::append(DefinitionKind kind, std::span<const DefinitionPiece> pieces) {
    DefinitionFileHeader* file = file_.load(std::memory_order_acquire);  // pairs with the release in attach
    if (file == nullptr) return 0;
    size_t body_bytes = 0;
    for (const DefinitionPiece& piece : pieces) {
        if (piece.size > kMaxDefinitionBytes) return no_room();
        body_bytes += piece.size;
    }
    if (body_bytes == 0) return 0;  // says nothing, so "none" says as much
    if (body_bytes > kMaxDefinitionBytes) return no_room();

    DefinitionHeader* mine = nullptr;
    uint64_t offset = 0;
    for (;;) {
        // acquire, pairs with the release CAS below: records before the tail have their length.
        offset = file->tail.load(std::memory_order_acquire);
        const uint64_t end = offset + record_bytes(static_cast<uint32_t>(body_bytes));
        if (end > (uint64_t{kDefinitionAlignment} << kDefinitionIdBits)) return no_room();
        // acquire, pairs with the release in grow: pages below it are on disk.
        if (end > file->capacity.load(std::memory_order_acquire)) {
            if (!grow(end)) return no_room();
            continue;
        }
        mine = record(offset);
        uint32_t length = 0;
        // release, pairs with the acquire in record_at.
        const bool reserved = length_of(mine).compare_exchange_strong(
            length, static_cast<uint32_t>(body_bytes), std::memory_order_acq_rel, std::memory_order_acquire);
        if (reserved) VRAMTRACE_TEST_POINT("definition.reserved");
        uint64_t expected = offset;
        const uint64_t next = reserved ? end : offset + record_bytes(length);
        file->tail.compare_exchange_strong(expected, next, std::memory_order_release, std::memory_order_relaxed);
        if (reserved) break;
    }
    VRAMTRACE_TEST_POINT("definition.tail");

    uint32_t hash = kFnvBasis;
    auto* body = reinterpret_cast<char*>(mine + 1);
    for (const DefinitionPiece& piece : pieces) {
        if (piece.size == 0) continue;
        std::memcpy(body, piece.bytes, piece.size);
        hash = definition_hash(body, piece.size, hash);  // of the copy: the job may change its own bytes meanwhile
        body += piece.size;
    }
    mine->kind = kind;
    mine->hash = hash;
    VRAMTRACE_TEST_POINT("definition.filled");
    // release, pairs with the acquire in record_at.
    std::atomic_ref<uint16_t>(mine->commit).store(kDefinitionCommitted, std::memory_order_release);
    VRAMTRACE_TEST_POINT("definition.committed");
    return static_cast<DefinitionId>(offset / kDefinitionAlignment);
}

std::span<const std::byte> DefinitionTable::body(DefinitionId id) const {
    const DefinitionFileHeader* file = file_.load(std::memory_order_acquire);
    const uint64_t offset = uint64_t{id} * kDefinitionAlignment;
    if (file == nullptr || id == 0 || offset >= file->tail.load(std::memory_order_acquire)) return {};
    DefinitionHeader* found = record(offset);
    // acquire, pairs with the release that commits in append (of another thread).
    if (std::atomic_ref<uint16_t>(found->commit).load(std::memory_order_acquire) != kDefinitionCommitted) return {};
    return {reinterpret_cast<const std::byte*>(found + 1), length_of(found).load(std::memory_order_relaxed)};
}

DefinitionKind DefinitionTable::kind(DefinitionId id) const {
    return body(id).empty() ? DefinitionKind::None : record(uint64_t{id} * kDefinitionAlignment)->kind;
}

// True if the capacity is now at least `needed_bytes`.
bool DefinitionTable::grow(size_t needed_bytes) {
    DefinitionFileHeader* file = file_.load(std::memory_order_relaxed);
    if (facts_ == nullptr || needed_bytes > facts_->maximum_bytes) return false;
    const KeepErrno keep_errno;
    const uint64_t now = sys::monotonic_ns();
    if (now < retry_time_.load(std::memory_order_relaxed)) return false;
    // No handler of the job may run on top of us: it would wait for us to finish, or jump out and leave growing_ set.
    const BlockSignals block;
    uint32_t idle = 0;
    if (!growing_.compare_exchange_strong(idle, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        for (unsigned i = 0; i < kWaitsForGrower && growing_.load(std::memory_order_relaxed) != 0; ++i) {
            sys::sleep_nanoseconds(kWaitNanoseconds);
        }
        return file->capacity.load(std::memory_order_acquire) >= needed_bytes;
    }
    const uint64_t capacity = file->capacity.load(std::memory_order_relaxed);
    bool grown = capacity >= needed_bytes;
    if (!grown) {
        uint64_t step = capacity < kGrowthStep ? kGrowthStep : capacity;
        if (step > kLargestGrowth) step = kLargestGrowth;
        uint64_t larger = capacity + step;
        if (larger < needed_bytes) larger = (needed_bytes + kGrowthStep - 1) / kGrowthStep * kGrowthStep;
        if (larger > facts_->maximum_bytes) larger = facts_->maximum_bytes;
        grown = extend_file(capacity, larger);
        if (grown) {
            // release, pairs with the acquire in append and in DefinitionFile::image.
            file->capacity.store(larger, std::memory_order_release);
            VRAMTRACE_TEST_POINT("definition.grown");
        } else {
            retry_time_.store(now + kRetryNanoseconds, std::memory_order_relaxed);
        }
    }
    growing_.store(0, std::memory_order_release);
    return grown;
}

bool DefinitionTable::extend_file(uint64_t old_capacity, uint64_t new_capacity) {
    const int descriptor = sys::open(facts_->path, O_RDWR | O_NOFOLLOW);
    if (descriptor < 0) return false;
    struct stat facts {};
    bool good = fstat(descriptor, &facts) == 0 && facts.st_dev == facts_->device && facts.st_ino == facts_->inode;
    const uint64_t offset = kDefinitionFileHeaderBytes + old_capacity;
    const uint64_t bytes = new_capacity - old_capacity;
    good = good && allocate_space(descriptor, offset, bytes, facts_->disk_floor_bytes) == 0;
    if (good) VRAMTRACE_TEST_POINT("definition.allocated");
    good = good && make_resident(descriptor, offset, record(old_capacity), bytes) == 0;
    sys::close(descriptor);
    return good;
}

}  // namespace vramtrace::trace
