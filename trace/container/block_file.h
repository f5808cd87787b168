// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/container/block.h"

// Walks the blocks of a container that may be damaged anywhere, still be written to, or have its torn tail cut off
// while we read (so: pread, never mmap). Believes a header only with its checksum; after damage it looks for the next
// such header.
namespace vramtrace::trace {

class BlockFile {
public:
    enum class Payloads : bool { HeadersOnly = false, Read = true };

    // Throws InputError: cannot be opened, empty, cut off in its header, foreign, newer.
    explicit BlockFile(const std::string& path, Payloads payloads = Payloads::Read);
    ~BlockFile();
    BlockFile(const BlockFile&) = delete;
    BlockFile& operator=(const BlockFile&) = delete;

    const ContainerHeader& header() const { return header_; }
    bool header_damaged() const { return header_damaged_; }

    // The next sound block; its payload (if asked for) is not yet verified. False when the file has no further complete
    // block now; a later call tries again there.
    bool next();
    const BlockHeader& block() const { return block_; }
    std::span<const std::byte> payload() const { return payload_; }
    uint64_t block_offset() const { return block_offset_; }

    uint64_t offset() const { return offset_; }          // end of the last block given
    uint64_t file_bytes() const { return file_bytes_; }  // as last seen
    uint64_t skipped_bytes() const { return skipped_; }  // bytes between blocks that were none, so far
    // After next() was false: bytes that lie behind the last complete block.
    uint64_t tail_bytes() const { return file_bytes_ > offset_ ? file_bytes_ - offset_ : 0; }

private:
    size_t read_at(uint64_t offset, void* to, size_t bytes) const;
    bool take(uint64_t offset, const BlockHeader& header);
    bool find_next(uint64_t from);

    std::string path_;
    int fd_ = -1;
    Payloads payloads_;
    ContainerHeader header_;
    bool header_damaged_ = false;
    BlockHeader block_;
    std::vector<std::byte> payload_;
    std::vector<std::byte> window_;
    uint64_t block_offset_ = 0;
    uint64_t offset_ = 0;
    uint64_t scanned_to_ = 0;  // no sound header starts in [offset_, scanned_to_)
    uint64_t file_bytes_ = 0;
    uint64_t skipped_ = 0;
};

}  // namespace vramtrace::trace
