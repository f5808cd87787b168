// SPDX-License-Identifier: Apache-2.0
#include "trace/container/definition_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "trace/ring/definition_image.h"

namespace vramtrace::trace {

namespace {

constexpr size_t kFirstReservation = size_t{64} << 20;
constexpr size_t kLargestImage = size_t{kDefinitionAlignment} << kDefinitionIdBits;  // what an id can name

}  // namespace

DefinitionStore::DefinitionStore() {
    // Less where a limit on address space forbids it.
    for (size_t bytes = kFirstReservation; !reserve(bytes); bytes /= 2) {
        if (bytes < (size_t{1} << 20)) throw std::bad_alloc();
    }
}

DefinitionStore::~DefinitionStore() {
    munmap(base_, reserved_);
    if (!first_.empty()) munmap(first_.data(), first_.size());
}

bool DefinitionStore::reserve(size_t bytes) {
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return false;
    if (end_ > 0) std::memcpy(base, base_, end_);
    if (base_ != nullptr) first_ = {base_, reserved_};
    base_ = static_cast<std::byte*>(base);
    reserved_ = bytes;
    return true;
}

bool DefinitionStore::lay(uint64_t offset, std::span<const std::byte> bytes) {
    const auto outside = [&] { return offset > reserved_ || bytes.size() > reserved_ - offset; };
    if (offset > kLargestImage || bytes.size() > kLargestImage - offset) return false;
    for (size_t larger = kLargestImage; outside() && first_.empty() && larger > reserved_; larger /= 2) {
        if (reserve(larger)) break;
    }
    if (outside()) return false;
    if (bytes.empty()) return true;
    std::memcpy(base_ + offset, bytes.data(), bytes.size());
    end_ = std::max(end_, static_cast<size_t>(offset) + bytes.size());
    return true;
}

std::span<const std::byte> DefinitionStore::body(DefinitionId id, DefinitionKind kind) const {
    const RecordView record = record_at(image(), size_t{id} * kDefinitionAlignment);
    if (id == 0 || record.state != RecordState::Good || record.kind != kind) return {};
    return record.body;
}

void DefinitionStore::for_each(
    const std::function<void(DefinitionId, DefinitionKind, std::span<const std::byte>)>& visit) const {
    size_t offset = kFirstRecord;
    while (offset < end_) {
        const RecordView record = record_at(image(), offset);
        if (record.state == RecordState::Good) {
            visit(record.id, record.kind, record.body);
            offset += record.bytes;
        } else if (record.state == RecordState::Uncommitted) {
            offset += record.bytes;
        } else {
            offset = next_good_record(image(), offset + kDefinitionAlignment);
        }
    }
}

}  // namespace vramtrace::trace
