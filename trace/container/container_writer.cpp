// SPDX-License-Identifier: Apache-2.0
#include "trace/container/container_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "trace/container/block_file.h"
#include "trace/container/hash64.h"
#include "trace/container/input_error.h"
#include "trace/container/test_point.h"

namespace vramtrace::trace {
namespace {

bool write_at(int fd, uint64_t offset, std::span<const std::byte> bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t put = pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put == 0) errno = ENOSPC;
        if (put <= 0) return false;
        done += static_cast<size_t>(put);
    }
    return true;
}

}  // namespace

ContainerWriter::ContainerWriter(const std::string& path, const ProcessIdentity& identity) {
    fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path);
    try {
        struct stat status {};
        if (fstat(fd_, &status) != 0) throw std::system_error(errno, std::generic_category(), path);
        if (!S_ISREG(status.st_mode)) throw InputError(path + " is not a file.");
        // Shorter than a header: a collector died between creating the file and writing it.
        if (static_cast<uint64_t>(status.st_size) < kContainerHeaderBytes) {
            create(identity);
        } else {
            resume(path, identity);
        }
    } catch (...) {
        close(fd_);
        throw;
    }
}

ContainerWriter::~ContainerWriter() {
    close(fd_);
}

void ContainerWriter::create(const ProcessIdentity& identity) {
    test_point("container created");
    std::byte front[kContainerHeaderBytes] = {};
    ContainerHeader header;
    std::memcpy(header.format.magic, kContainerMagic, sizeof(header.format.magic));
    header.format.header_bytes = kContainerHeaderBytes;
    header.identity = identity;
    header.checksum = hash64(std::as_bytes(std::span(&header, 1)).first(offsetof(ContainerHeader, checksum)));
    std::memcpy(front, &header, sizeof(header));
    if (ftruncate(fd_, 0) != 0 || !write_at(fd_, 0, front)) throw std::system_error(errno, std::generic_category());
    end_ = kContainerHeaderBytes;
    test_point("container header written");
}

void ContainerWriter::resume(const std::string& path, const ProcessIdentity& identity) {
    BlockFile file(path, BlockFile::Payloads::HeadersOnly);
    const ProcessIdentity& there = file.header().identity;
    const bool same = there.pid == identity.pid && there.start_time == identity.start_time &&
                      there.counter == identity.counter &&
                      std::memcmp(there.boot_id, identity.boot_id, sizeof(there.boot_id)) == 0;
    if (!file.header_damaged() && !same) throw InputError(path + " is the trace of another process.");
    end_ = file.offset();
    while (file.next()) {
        const BlockHeader& block = file.block();
        if (!file.payload().empty() && hash64(file.payload()) != block.payload_checksum) continue;
        end_ = file.offset();
        if (block.kind == BlockKind::Events) {
            next_ticket_ = std::max(next_ticket_, block.first_ticket + block.ticket_count);
        }
        if (block.kind == BlockKind::Definitions) cover(block.position, block.raw_bytes);
        ended_ = block.kind == BlockKind::End;
    }
    cut_ = file.file_bytes() - end_;
    if (cut_ > 0 && ftruncate(fd_, static_cast<off_t>(end_)) != 0) {
        throw std::system_error(errno, std::generic_category(), path);
    }
    test_point("container torn tail cut");
}

bool ContainerWriter::append(BlockHeader header, std::span<const std::byte> raw) {
    sealed_.clear();
    sealer_.seal(header, raw, sealed_);
    test_point("block sealed");
    // A test kills between the halves of a block; outside tests it is one write.
    const size_t first = test_point_hook != nullptr ? sealed_.size() / 2 : 0;
    const auto bytes = std::span<const std::byte>(sealed_);
    bool done = first == 0 || write_at(fd_, end_, bytes.first(first));
    if (first > 0) test_point("block half written");
    done = done && write_at(fd_, end_ + first, bytes.subspan(first));
    if (!done) {
        error_ = errno;
        // A half that stays behind is a torn tail, which readers know and the next block overwrites: no matter if
        // this fails.
        static_cast<void>(ftruncate(fd_, static_cast<off_t>(end_)) == 0);
        return false;
    }
    end_ += sealed_.size();
    test_point("block written");
    return true;
}

// Keeps definitions_end_ at the first gap.
void ContainerWriter::cover(uint64_t offset, uint64_t bytes) {
    if (offset > definitions_end_) {
        uint64_t& end = later_definitions_[offset];
        end = std::max(end, offset + bytes);
        return;
    }
    definitions_end_ = std::max(definitions_end_, offset + bytes);
    for (auto later = later_definitions_.begin();
         later != later_definitions_.end() && later->first <= definitions_end_;) {
        definitions_end_ = std::max(definitions_end_, later->second);
        later = later_definitions_.erase(later);
    }
}

bool ContainerWriter::append_events(std::span<const Event> events, uint64_t first_ticket, uint32_t ticket_count) {
    BlockHeader header;
    header.kind = BlockKind::Events;
    header.first_ticket = first_ticket;
    header.ticket_count = ticket_count;
    if (!append(header, encoder_.encode(events, first_ticket))) return false;
    next_ticket_ = first_ticket + ticket_count;
    return true;
}

bool ContainerWriter::append_definitions(uint64_t offset, std::span<const std::byte> bytes) {
    BlockHeader header;
    header.kind = BlockKind::Definitions;
    while (!bytes.empty()) {
        const size_t part = std::min<size_t>(bytes.size(), kMaxDefinitionBlockBytes);
        header.position = offset;
        if (!append(header, bytes.first(part))) return false;
        cover(offset, part);
        offset += part;
        bytes = bytes.subspan(part);
    }
    return true;
}

bool ContainerWriter::append_clocks(const ClockPair& clocks) {
    BlockHeader header;
    header.kind = BlockKind::Clocks;
    return append(header, std::as_bytes(std::span(&clocks, 1)));
}

bool ContainerWriter::append_status(const StatusRecord& status) {
    record_.clear();
    encode(status, record_);
    BlockHeader header;
    header.kind = BlockKind::Status;
    return append(header, record_.bytes());
}

bool ContainerWriter::append_end(const EndRecord& end, uint64_t tickets) {
    record_.clear();
    encode(end, record_);
    BlockHeader header;
    header.kind = BlockKind::End;
    header.first_ticket = tickets;
    if (!append(header, record_.bytes())) return false;
    ended_ = true;
    return true;
}

}  // namespace vramtrace::trace
