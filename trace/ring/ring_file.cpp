// SPDX-License-Identifier: Apache-2.0
#include "trace/ring/ring_file.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "trace/ring/system_calls.h"
#include "trace/trace_name.h"

namespace vramtrace::trace {

struct FileAccess {
    // Maps the whole file as it is now.
    static OpenError map(int descriptor, FileMode mode, MappedFile& file) {
        struct stat facts {};
        if (fstat(descriptor, &facts) != 0) return OpenError::NoAccess;
        if (!S_ISREG(facts.st_mode)) return OpenError::Foreign;
        if (facts.st_size == 0) return OpenError::NotReady;
        const auto size = static_cast<size_t>(facts.st_size);
        const int protection = mode == FileMode::ReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
        void* data = mmap(nullptr, size, protection, MAP_SHARED, descriptor, 0);
        if (data == MAP_FAILED) return errno == EACCES ? OpenError::NoAccess : OpenError::NoMemory;
        file.reset();
        file.data_ = static_cast<std::byte*>(data);
        file.size_ = size;
        return OpenError::None;
    }
};

namespace {

OpenError error_of_open() {
    return errno == ENOENT || errno == ENOTDIR ? OpenError::NotFound : OpenError::NoAccess;
}

// The rules of process_header.h that hold for every file of ours.
OpenError check_format(const MappedFile& file, const char (&magic)[8], size_t least_header) {
    if (file.size() < sizeof(FormatHeader)) return OpenError::TooShort;
    FormatHeader format;
    // acquire, pairs with the release of publish_magic: the rest of the header is there.
    const uint64_t word =
        std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(file.data())).load(std::memory_order_acquire);
    std::memcpy(&format, file.data(), sizeof format);
    if (word == 0) return OpenError::NotReady;
    if (std::memcmp(&word, magic, sizeof word) != 0) return OpenError::Foreign;
    if (format.byte_order != kByteOrder || format.word_bytes != sizeof(void*)) return OpenError::Foreign;
    if (format.major > kFormatMajor) return OpenError::Newer;
    if (format.major == 0 || format.header_bytes < least_header || format.header_bytes % 64 != 0) {
        return OpenError::Damaged;
    }
    return format.header_bytes > file.size() ? OpenError::TooShort : OpenError::None;
}

OpenError check_ring(const MappedFile& file) {
    const OpenError error = check_format(file, kRingMagic, sizeof(RingHeader));
    if (error != OpenError::None) return error;
    const auto* header = reinterpret_cast<const RingHeader*>(file.data());
    const uint32_t count = header->slot_count;
    if (header->slot_bytes != sizeof(Event) || count < 4 || (count & (count - 1)) != 0) return OpenError::Damaged;
    const uint64_t needed = header->format.header_bytes + uint64_t{count} * sizeof(Event);
    return needed > file.size() ? OpenError::TooShort : OpenError::None;
}

}  // namespace

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    if (this != &other) {
        reset();
        data_ = std::exchange(other.data_, nullptr);
        size_ = std::exchange(other.size_, 0);
    }
    return *this;
}

void MappedFile::reset() {
    if (data_ != nullptr) munmap(data_, size_);
    data_ = nullptr;
    size_ = 0;
}

void* MappedFile::release() {
    size_ = 0;
    return std::exchange(data_, nullptr);
}

const char* open_error_text(OpenError error) {
    switch (error) {
        case OpenError::None:
            return "is good";
        case OpenError::NotFound:
            return "does not exist";
        case OpenError::NoAccess:
            return "cannot be opened";
        case OpenError::NotReady:
            return "is empty: its process is just creating it, or died doing so";
        case OpenError::TooShort:
            return "is shorter than its header says";
        case OpenError::Foreign:
            return "is not a vramtrace file of this kind of machine";
        case OpenError::Newer:
            return "was written by a newer vramtrace; read it with that version";
        case OpenError::Damaged:
            return "has a damaged header";
        case OpenError::NoMemory:
            return "cannot be mapped: not enough memory or address space";
    }
    return "cannot be read";
}

OpenError open_ring_segment(const char* path, FileMode mode, MappedFile& file) {
    const int descriptor = sys::open(path, (mode == FileMode::ReadWrite ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) return error_of_open();
    OpenError error = FileAccess::map(descriptor, mode, file);
    sys::close(descriptor);
    if (error == OpenError::None) error = check_ring(file);
    if (error != OpenError::None) file.reset();
    return error;
}

SegmentSource::View segment_view(const MappedFile& file) {
    SegmentSource::View view;
    if (!file) return view;
    view.header = reinterpret_cast<RingHeader*>(file.data());
    view.slots = reinterpret_cast<Slot*>(file.data() + view.header->format.header_bytes);
    view.slot_count = view.header->slot_count;
    return view;
}

RingFiles::RingFiles(const char* prefix, FileMode mode, bool remove_drained)
    : mode_(mode), remove_drained_(remove_drained) {
    const size_t length = strnlen(prefix, sizeof prefix_);
    std::memcpy(prefix_, prefix, length < sizeof prefix_ ? length : 0);
    prefix_[length < sizeof prefix_ ? length : 0] = '\0';
}

OpenError RingFiles::open() {
    segment(0);
    return last_error_;
}

SegmentSource::View RingFiles::segment(uint32_t index) {
    if (index >= kMaxSegments) return {};
    MappedFile& file = segments_[index];
    if (!file) {
        char path[kMaxPath];
        last_error_ = ring_path(prefix_, index, path, sizeof path) == 0 ? OpenError::NotFound
                                                                        : open_ring_segment(path, mode_, file);
        // A segment of another process, or of another place in the order, would mix up the tickets.
        if (file && segment_view(file).header->segment != index) {
            file.reset();
            last_error_ = OpenError::Damaged;
        }
        if (file && index >= opened_) opened_ = index + 1;
    }
    return segment_view(file);
}

void RingFiles::finished(uint32_t index) {
    if (index >= kMaxSegments || !segments_[index]) return;
    if (remove_drained_ && mode_ == FileMode::ReadWrite) {
        const View view = segment_view(segments_[index]);
        char path[kMaxPath];
        if (index != 0 && ring_path(prefix_, index, path, sizeof path) != 0) sys::unlink(path);
        // The job keeps the header mapped, so the file lives on: give its blocks back now. Not while a stalled writer may
        // still be in a slot: it must find its page.
        if (view.header->abandoned.load(std::memory_order_relaxed) == 0 &&
            view.header->format.header_bytes % kRingHeaderBytes == 0) {
            madvise(view.slots, size_t{view.slot_count} * sizeof(Slot), MADV_REMOVE);
        }
    }
    if (index != 0) segments_[index].reset();  // segment 0's header is what everybody looks at
}

void RingFiles::remove_all() {
    char path[kMaxPath];
    const View first = segment_view(segments_[0]);
    uint32_t segments = opened_;
    if (first.header != nullptr) {
        const uint32_t said = first.header->segments.load(std::memory_order_acquire);
        if (said > segments) segments = said < kMaxSegments ? said : kMaxSegments;
    }
    // One more: a job that died between creating a segment and counting it. Segment 0 goes last: it leads to the others.
    for (uint32_t index = segments + 1; index-- > 0;) {
        if (ring_path(prefix_, index, path, sizeof path) != 0) sys::unlink(path);
    }
    if (suffixed_path(prefix_, suffix::kDefinitions, path, sizeof path) != 0) sys::unlink(path);
}

OpenError DefinitionFile::open(const char* path) {
    if (descriptor_ >= 0) sys::close(descriptor_);
    file_.reset();
    descriptor_ = sys::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor_ < 0) return error_of_open();
    OpenError error = FileAccess::map(descriptor_, FileMode::ReadOnly, file_);
    if (error == OpenError::None) error = check_format(file_, kDefinitionMagic, sizeof(DefinitionFileHeader));
    if (error != OpenError::None) file_.reset();
    return error;
}

void DefinitionFile::refresh() {
    if (!file_) return;
    struct stat facts {};
    if (fstat(descriptor_, &facts) != 0 || static_cast<size_t>(facts.st_size) == file_.size()) return;
    MappedFile larger;
    if (FileAccess::map(descriptor_, FileMode::ReadOnly, larger) == OpenError::None) file_ = std::move(larger);
}

const DefinitionFileHeader* DefinitionFile::header() const {
    return reinterpret_cast<const DefinitionFileHeader*>(file_.data());
}

std::span<const std::byte> DefinitionFile::image() const {
    if (!file_) return {};
    // acquire, pairs with the release CAS of DefinitionTable::append: records before it have their length.
    uint64_t bytes = header()->tail.load(std::memory_order_acquire);
    const uint64_t capacity = header()->capacity.load(std::memory_order_acquire);
    const size_t front = header()->format.header_bytes;
    if (front > file_.size()) return {};
    if (bytes > capacity) bytes = capacity;
    if (bytes > file_.size() - front) bytes = file_.size() - front;
    return {file_.data() + front, static_cast<size_t>(bytes)};
}

DefinitionFile::~DefinitionFile() {
    if (descriptor_ >= 0) sys::close(descriptor_);
}

}  // namespace vramtrace::trace
