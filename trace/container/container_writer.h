// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/container/block.h"
#include "trace/container/byte_sink.h"
#include "trace/container/event_columns.h"
#include "trace/container/status_block.h"
#include "trace/definition.h"
#include "trace/event.h"

// Appends to a container. When an append has returned true, its block is in the page cache: it survives the death of
// every process here (not of the machine), and only then may the ring's tail advance. After a failed append (disk
// full, limit) the file is as it was before, and the same append can be tried again.
namespace vramtrace::trace {

class ContainerWriter {
public:
    // Creates `path`, or continues what an earlier collector wrote there: everything behind its last good block is cut
    // off. Throws InputError if a foreign file, another process's trace or a newer format lies there, std::system_error
    // if the system says no.
    ContainerWriter(const std::string& path, const ProcessIdentity& identity);
    ~ContainerWriter();
    ContainerWriter(const ContainerWriter&) = delete;
    ContainerWriter& operator=(const ContainerWriter&) = delete;

    // Events in ticket order, of the tickets [first_ticket, first_ticket + ticket_count); tickets without event were
    // abandoned. At most kMaxBlockEvents.
    bool append_events(std::span<const Event> events, uint64_t first_ticket, uint32_t ticket_count);
    // Bytes of the definition image from `offset` on, in as many blocks as it takes.
    bool append_definitions(uint64_t offset, std::span<const std::byte> bytes);
    bool append_clocks(const ClockPair& clocks);
    bool append_status(const StatusRecord& status);
    // `tickets` = all that were ever handed out. Nothing should follow.
    bool append_end(const EndRecord& end, uint64_t tickets);

    uint64_t next_ticket() const { return next_ticket_; }  // one past the last ticket that the container covers
    // Every definition record before this byte of the image is in the container.
    uint64_t definitions_end() const { return definitions_end_; }
    bool ended() const { return ended_; }
    uint64_t file_bytes() const { return end_; }
    uint64_t cut_bytes() const { return cut_; }  // torn tail that the constructor removed
    int error() const { return error_; }         // errno of the last append that failed

private:
    void create(const ProcessIdentity& identity);
    void resume(const std::string& path, const ProcessIdentity& identity);
    bool append(BlockHeader header, std::span<const std::byte> raw);
    void cover(uint64_t offset, uint64_t bytes);

    int fd_ = -1;
    uint64_t end_ = 0;
    uint64_t next_ticket_ = 0;
    uint64_t definitions_end_ = kDefinitionAlignment;
    uint64_t cut_ = 0;
    int error_ = 0;
    bool ended_ = false;
    EventEncoder encoder_;
    BlockSealer sealer_;
    ByteSink record_;
    std::map<uint64_t, uint64_t> later_definitions_;  // begin → end of ranges behind a record that is not here yet
    std::vector<std::byte> sealed_;
};

}  // namespace vramtrace::trace
