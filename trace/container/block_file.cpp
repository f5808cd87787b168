// SPDX-License-Identifier: Apache-2.0
#include "trace/container/block_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trace/container/format_check.h"
#include "trace/container/hash64.h"
#include "trace/container/input_error.h"

namespace vramtrace::trace {
namespace {

constexpr size_t kWindowBytes = 1U << 18;

}  // namespace

BlockFile::BlockFile(const std::string& path, Payloads payloads) : path_(path), payloads_(payloads) {
    // O_NONBLOCK: a named pipe must not hang us; it is refused below.
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) throw InputError(path + " cannot be opened: " + std::strerror(errno) + ".");
    try {
        std::byte front[kContainerHeaderBytes] = {};
        struct stat status {};
        if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) throw InputError(path + " is not a file.");
        file_bytes_ = static_cast<uint64_t>(status.st_size);
        const size_t got = read_at(0, front, sizeof(front));
        check_format(path, std::span(front).first(got), kContainerMagic, sizeof(ContainerHeader));
        std::memcpy(&header_, front, sizeof(header_));
        if (header_.format.header_bytes > file_bytes_) {
            throw InputError(path + " is cut off in its header: only " + std::to_string(file_bytes_) +
                             " bytes are left.");
        }
    } catch (...) {
        close(fd_);
        throw;
    }
    const auto hashed = std::as_bytes(std::span(&header_, 1)).first(offsetof(ContainerHeader, checksum));
    header_damaged_ = hash64(hashed) != header_.checksum;
    // With a damaged header its length is no better than the rest; blocks are found by their magic anyway.
    offset_ = scanned_to_ = header_damaged_ ? sizeof(ContainerHeader) : header_.format.header_bytes;
}

BlockFile::~BlockFile() {
    close(fd_);
}

size_t BlockFile::read_at(uint64_t offset, void* to, size_t bytes) const {
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = pread(fd_, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<size_t>(got);
    }
    return done;
}

bool BlockFile::take(uint64_t offset, const BlockHeader& header) {
    const uint64_t end = offset + sizeof(BlockHeader) + header.stored_bytes;
    if (end > file_bytes_) return false;
    payload_.clear();
    // Only the last block can be torn by a writer's death: a walk over headers reads payloads near the end alone.
    const bool near_end = file_bytes_ - offset <= 2ULL * kMaxStoredBytes;
    if (payloads_ == Payloads::Read || near_end) {
        payload_.resize(header.stored_bytes);
        if (read_at(offset + sizeof(BlockHeader), payload_.data(), payload_.size()) != payload_.size()) return false;
    }
    block_ = header;
    block_offset_ = offset;
    skipped_ += offset - offset_;
    offset_ = scanned_to_ = end;
    return true;
}

bool BlockFile::next() {
    struct stat status {};
    if (fstat(fd_, &status) == 0) file_bytes_ = static_cast<uint64_t>(status.st_size);
    if (scanned_to_ > file_bytes_) scanned_to_ = offset_;  // somebody cut the tail off that we had searched
    BlockHeader header;
    if (read_at(offset_, &header, sizeof(header)) == sizeof(header) && sound(header)) {
        if (take(offset_, header)) return true;
        if (offset_ + sizeof(header) + header.stored_bytes > file_bytes_) return false;  // not yet complete, or torn
    }
    return find_next(std::max(offset_, scanned_to_));
}

bool BlockFile::find_next(uint64_t from) {
    window_.resize(kWindowBytes);
    while (from + sizeof(BlockHeader) <= file_bytes_) {
        // A hole holds no header, and can be larger than any disk.
        const off_t data = lseek(fd_, static_cast<off_t>(from), SEEK_DATA);
        if (data < 0 && errno == ENXIO) {
            scanned_to_ = file_bytes_;
            return false;
        }
        if (data > 0 && static_cast<uint64_t>(data) > from) {
            from = scanned_to_ = static_cast<uint64_t>(data);
            continue;
        }
        const size_t got = read_at(from, window_.data(), window_.size());
        if (got < sizeof(BlockHeader)) return false;
        for (size_t at = 0; at + sizeof(BlockHeader) <= got; ++at) {
            uint32_t magic = 0;
            std::memcpy(&magic, &window_[at], sizeof(magic));
            if (magic != kBlockMagic) continue;
            BlockHeader header;
            std::memcpy(static_cast<void*>(&header), &window_[at], sizeof(header));
            if (sound(header) && take(from + at, header)) return true;
        }
        from += got - sizeof(BlockHeader) + 1;
        scanned_to_ = from;
    }
    return false;
}

}  // namespace vramtrace::trace
