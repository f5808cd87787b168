// SPDX-License-Identifier: Apache-2.0
#include "trace/ring/definition_image.h"

#include <atomic>

namespace vramtrace::trace {

namespace {

// The image may be mapped read-only and be written by the job meanwhile; atomic_ref of a const object is C++26.
template <typename T>
T load_acquire(const T& place) {
    return std::atomic_ref<T>(const_cast<T&>(place)).load(std::memory_order_acquire);
}

}  // namespace

RecordView record_at(std::span<const std::byte> image, size_t offset) {
    RecordView view;
    if (offset % kDefinitionAlignment != 0 || offset < kFirstRecord || offset >= image.size()) return view;
    if (image.size() - offset < sizeof(DefinitionHeader)) {
        view.state = RecordState::Damaged;
        return view;
    }
    const auto* header = reinterpret_cast<const DefinitionHeader*>(image.data() + offset);
    // acquire, pairs with the release of the reservation in DefinitionTable::append.
    const uint32_t body_bytes = load_acquire(header->body_bytes);
    // acquire, pairs with the release that commits in DefinitionTable::append: all else of the record is there.
    const uint16_t commit = load_acquire(header->commit);
    if (body_bytes == 0) {
        view.state = commit == 0 ? RecordState::End : RecordState::Damaged;
        return view;
    }
    if (body_bytes > kMaxDefinitionBytes || record_bytes(body_bytes) > image.size() - offset ||
        (commit != 0 && commit != kDefinitionCommitted)) {
        view.state = RecordState::Damaged;
        return view;
    }
    view.id = static_cast<DefinitionId>(offset / kDefinitionAlignment);
    view.bytes = record_bytes(body_bytes);
    if (commit == 0) {
        view.state = RecordState::Uncommitted;
        return view;
    }
    view.kind = header->kind;
    view.body = image.subspan(offset + sizeof(DefinitionHeader), body_bytes);
    view.state =
        definition_hash(view.body.data(), view.body.size()) == header->hash ? RecordState::Good : RecordState::Damaged;
    return view;
}

size_t next_good_record(std::span<const std::byte> image, size_t offset) {
    offset = (offset + kDefinitionAlignment - 1) & ~size_t{kDefinitionAlignment - 1};
    for (; offset < image.size(); offset += kDefinitionAlignment) {
        if (record_at(image, offset).state == RecordState::Good) return offset;
    }
    return image.size();
}

std::span<const std::byte> DefinitionImage::body(DefinitionId id, DefinitionKind kind) const {
    const RecordView view = record_at(image_, size_t{id} * kDefinitionAlignment);
    if (view.state != RecordState::Good || view.kind != kind) return {};
    return view.body;
}

void DefinitionImage::for_each(
    const std::function<void(DefinitionId, DefinitionKind, std::span<const std::byte>)>& visit) const {
    size_t offset = kFirstRecord;
    while (offset < image_.size()) {
        const RecordView view = record_at(image_, offset);
        if (view.state == RecordState::Good) visit(view.id, view.kind, view.body);
        if (view.bytes != 0 && view.state != RecordState::Damaged) {
            offset += view.bytes;
        } else {
            // Damage, or a stretch that a container could not save: go on at the next record that proves itself.
            offset = next_good_record(image_, offset + kDefinitionAlignment);
        }
    }
}

RecordView DefinitionScanner::next(std::span<const std::byte> image) {
    for (; next_hole_ < hole_count_; ++next_hole_) {
        const RecordView view = record_at(image, holes_[next_hole_]);
        if (view.state == RecordState::Uncommitted) continue;
        holes_[next_hole_] = holes_[--hole_count_];
        if (view.state == RecordState::Good) return view;
        ++damaged_;
        --next_hole_;
    }
    while (position_ < image.size()) {
        const RecordView view = record_at(image, position_);
        switch (view.state) {
            case RecordState::Good:
                position_ += view.bytes;
                return view;
            case RecordState::Uncommitted:
                if (hole_count_ == kMaxHoles) {
                    ++forgotten_;
                } else {
                    holes_[hole_count_++] = position_;
                    next_hole_ = hole_count_;
                }
                position_ += view.bytes;
                break;
            case RecordState::Damaged: {
                const size_t good = next_good_record(image, position_ + kDefinitionAlignment);
                if (good == image.size()) {  // perhaps only the end of what is mapped: look again next time
                    next_hole_ = 0;
                    return {};
                }
                ++damaged_;
                position_ = good;
                break;
            }
            case RecordState::End:
                next_hole_ = 0;
                return {};
        }
    }
    next_hole_ = 0;
    return {};
}

}  // namespace vramtrace::trace
