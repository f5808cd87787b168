// SPDX-License-Identifier: Apache-2.0
#include "trace/container/definition_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "trace/ring/definition_image.h"

namespace vramtrace::trace {

DefinitionStore::DefinitionStore() {
    // As much as an id can name; less where a limit on address space forbids it.
    for (reserved_ = size_t{kDefinitionAlignment} << kDefinitionIdBits; reserved_ >= (size_t{1} << 20);
         reserved_ >>= 1) {
        void* base =
            mmap(nullptr, reserved_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base != MAP_FAILED) {
            base_ = static_cast<std::byte*>(base);
            return;
        }
    }
    throw std::bad_alloc();
}

DefinitionStore::~DefinitionStore() {
    munmap(base_, reserved_);
}

bool DefinitionStore::lay(uint64_t offset, std::span<const std::byte> bytes) {
    if (offset > reserved_ || bytes.size() > reserved_ - offset) return false;
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
