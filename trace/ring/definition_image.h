// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/definition.h"
#include "trace/event_source.h"
#include "trace/ring/definition_record.h"

// READING A DEFINITION IMAGE, wherever its bytes are: a mapped .defs file that still grows, or a container's blocks put
// together again. Nothing found in the image is believed before it was compared with the image's size.
namespace vramtrace::trace {

enum class RecordState : uint8_t {
    Good,         // committed, inside the image, hash right
    Uncommitted,  // its length is known, its content not there (yet)
    Damaged,      // commit word, length or hash make no sense
    End,          // no record starts here: nothing was reserved at or after this offset
};

struct RecordView {
    RecordState state = RecordState::End;
    DefinitionId id = 0;
    DefinitionKind kind = DefinitionKind::None;
    std::span<const std::byte> body;
    size_t bytes = 0;  // of the whole record when state is Good or Uncommitted
};

// The record at byte `offset` of the image (a multiple of kDefinitionAlignment).
RecordView record_at(std::span<const std::byte> image, size_t offset);

// First offset ≥ `offset` at which a Good record starts, or image.size(): how a reader goes on after damage.
size_t next_good_record(std::span<const std::byte> image, size_t offset);

class DefinitionImage final : public DefinitionView {
public:
    DefinitionImage() = default;
    explicit DefinitionImage(std::span<const std::byte> image) : image_(image) {}

    // The same image with more bytes at its end (or elsewhere in memory).
    void reset(std::span<const std::byte> image) { image_ = image; }
    std::span<const std::byte> bytes() const { return image_; }

    std::span<const std::byte> body(DefinitionId id, DefinitionKind kind) const override;
    void for_each(
        const std::function<void(DefinitionId, DefinitionKind, std::span<const std::byte>)>& visit) const override;

private:
    std::span<const std::byte> image_;
};

// Finds what was committed since the last time, for a collector that copies records while the job appends them.
// Records are committed in any order; one whose writer was interrupted is remembered and looked at again.
class DefinitionScanner {
public:
    // The next record (header, body, padding: copy bytes(image, record)) committed since; state End when there is none now.
    RecordView next(std::span<const std::byte> image);

    static std::span<const std::byte> bytes(std::span<const std::byte> image, const RecordView& record) {
        return image.subspan(size_t{record.id} * kDefinitionAlignment, record.bytes);
    }
    // Continue behind what an earlier collector has already stored; uncommitted records before it are not revisited.
    void start_at(size_t offset) { position_ = offset < kFirstRecord ? kFirstRecord : offset; }
    size_t position() const { return position_; }      // every record before it was seen, but for the holes
    size_t holes() const { return hole_count_; }       // records reserved before position() and not committed yet
    uint64_t damaged() const { return damaged_; }      // times that a stretch of the image made no sense
    uint64_t forgotten() const { return forgotten_; }  // holes given up because there were too many

private:
    static constexpr size_t kMaxHoles = 64;
    size_t position_ = kFirstRecord;
    size_t holes_[kMaxHoles] = {};
    size_t hole_count_ = 0;
    size_t next_hole_ = 0;  // where this round of looking at the holes is
    uint64_t damaged_ = 0;
    uint64_t forgotten_ = 0;
};

}  // namespace vramtrace::trace
