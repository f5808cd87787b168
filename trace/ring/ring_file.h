// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/process_header.h"
#include "trace/ring/definition_table.h"
#include "trace/ring/ring.h"
#include "trace/ring/ring_reader.h"

// THE FILES of rings and definitions: created by the job, opened by everybody else. No heap, no descriptor kept.
namespace vramtrace::trace {

// A mapping of a file; unmaps at its end. What the job creates it releases: its mappings live as long as the process.
class MappedFile {
public:
    MappedFile() = default;
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() { reset(); }

    void reset();
    void* release();
    std::byte* data() const { return data_; }
    size_t size() const { return size_; }
    explicit operator bool() const { return data_ != nullptr; }

private:
    friend struct FileAccess;
    std::byte* data_ = nullptr;
    size_t size_ = 0;
};

// Creating ------------------------------------------------------------------------------------------------------------

// Room that must be left for others; all 0 = unlimited.
struct Space {
    uint64_t disk_floor_bytes = 0;       // bytes that must stay free on the file system; at most 1 % of it is asked for
    uint64_t directory_limit_bytes = 0;  // bytes that all files of `directory` may take together
    const char* directory = nullptr;
};

// Why something could not be created: an errno value (EEXIST: take another name; EFBIG: RLIMIT_FSIZE; ENOSPC: disk, floor;
// EDQUOT: directory limit), or 0. All files are O_EXCL, 0600, resident and backed by disk space; never a signal.
int create_ring_segment(const char* path, const ProcessIdentity& identity, uint32_t segment, uint32_t slot_count,
                        const Space& space, RingHeader*& header);

// Maps `maximum_bytes` of address space (less if the process may not), allocates the first step.
int create_definitions(const char* path, const ProcessIdentity& identity, size_t maximum_bytes, const Space& space,
                       DefinitionFileHeader*& header, DefinitionFileFacts& facts);

// Gives back memory and address space of a drained, closed segment's slots. The header page stays mapped for ever: a
// writer that found the segment before it was closed may still look at its head. False while it is not safe.
bool release_drained_slots(RingHeader* header);

// Bytes allocated by the files in `directory` (not below it), or 0 if it cannot be read.
uint64_t directory_bytes(const char* directory);

// A file system of this machine, on which a mapping is shared memory and not a network's idea of it. Unknown = local.
bool is_local_file_system(const char* path);
// Bytes free for an ordinary user on the file system of `path`, 0 if unknown.
uint64_t free_bytes(const char* path);

// Opening -------------------------------------------------------------------------------------------------------------

enum class OpenError : uint8_t {
    None,
    NotFound,
    NoAccess,
    NotReady,  // being created just now, or its creator died in the middle of it: no content
    TooShort,  // shorter than its header says
    Foreign,   // not a file of ours, or of another byte order or word size
    Newer,     // written by a newer major version
    Damaged,   // header contradicts itself
    NoMemory,
};
const char* open_error_text(OpenError error);  // half a sentence: "is shorter than its header says"

enum class FileMode : uint8_t { ReadOnly, ReadWrite };

OpenError open_ring_segment(const char* path, FileMode mode, MappedFile& file);
// The validated view of an opened segment.
SegmentSource::View segment_view(const MappedFile& file);

// The segments of one process as files; for a RingReader.
class RingFiles final : public SegmentSource {
public:
    static constexpr uint32_t kMaxSegments = 4096;

    // `prefix`: trace_name.h ring_prefix(). remove_drained: the collector, which unlinks the segments it has drained (not
    // segment 0: it carries losses and identity until the process is over; see remove_all).
    RingFiles(const char* prefix, FileMode mode, bool remove_drained);

    OpenError open();  // segment 0
    View segment(uint32_t index) override;
    void finished(uint32_t index) override;
    OpenError last_error() const { return last_error_; }
    // The process is over and everything is in the container: unlinks ring segments and definitions.
    void remove_all();

private:
    char prefix_[4096];
    FileMode mode_;
    bool remove_drained_;
    OpenError last_error_ = OpenError::None;
    uint32_t opened_ = 0;  // segments [0, opened_) were mapped at some time
    MappedFile segments_[kMaxSegments];
};

// The definitions of one process, read-only, growing as the job appends.
class DefinitionFile {
public:
    OpenError open(const char* path);
    // Looks again how much is there. The image's bytes stay at their place unless the file grew: take image() anew.
    void refresh();
    std::span<const std::byte> image() const;  // up to what is reserved, allocated and mapped
    const DefinitionFileHeader* header() const;
    ~DefinitionFile();

    DefinitionFile() = default;
    DefinitionFile(const DefinitionFile&) = delete;
    DefinitionFile& operator=(const DefinitionFile&) = delete;

private:
    int descriptor_ = -1;
    MappedFile file_;
};

}  // namespace vramtrace::trace
