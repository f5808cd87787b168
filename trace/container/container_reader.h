// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/container/block_file.h"
#include "trace/container/definition_store.h"
#include "trace/container/event_columns.h"
#include "trace/container/status_block.h"
#include "trace/event_source.h"

// A container as an EventSource, one block in memory at a time. What is damaged is left out, told and counted; what a
// later minor version added is passed over. next_batch may be called again after false: the file may have grown.
namespace vramtrace::trace {

class ContainerReader final : public EventSource {
public:
    // Throws InputError. `definitions`: where to lay them, if they are to be kept together with those of a ring.
    explicit ContainerReader(const std::string& path, DefinitionStore* definitions = nullptr);

    bool next_batch(std::vector<Event>& batch) override;
    const DefinitionView& definitions() const override { return *definitions_; }
    // Complete after finish().
    const SourceStatus& status() const override { return status_; }
    uint64_t bytes_done() const override { return file_.offset(); }
    uint64_t bytes_total() const override { return file_.file_bytes(); }

    // Nothing more will be read: counts what must be missing at the end and tells of a torn tail (if nobody else had
    // it).
    void finish(bool tell_torn_tail = true);

    uint64_t next_ticket() const { return next_ticket_; }  // tickets before it were given, or counted
    // Tickets before `ticket` have been read elsewhere: events before it are not given again.
    void seek(uint64_t ticket) {
        if (ticket > next_ticket_) next_ticket_ = ticket;
    }
    bool ended() const { return ended_; }  // the End block was met: nothing will be appended
    uint64_t void_tickets() const { return void_tickets_; }
    const std::vector<ClockPair>& clocks() const { return clocks_; }

private:
    void take_events(std::vector<Event>& batch);
    void take_status(const StatusRecord& record);
    void warn(const std::string& sentence);
    void damaged(const char* what);

    std::string path_;
    BlockFile file_;
    BlockOpener opener_;
    EventDecoder decoder_;
    std::unique_ptr<DefinitionStore> own_definitions_;
    DefinitionStore* definitions_;
    SourceStatus status_;
    std::vector<std::byte> raw_;
    std::vector<ClockPair> clocks_;
    std::vector<std::string> notes_;
    uint64_t next_ticket_ = 0;
    uint64_t total_tickets_ = 0;
    uint64_t void_tickets_ = 0;
    uint64_t reported_missing_ = 0;
    uint64_t damaged_blocks_ = 0;
    uint64_t told_skipped_ = 0;
    uint64_t unknown_blocks_ = 0;
    bool ended_ = false;
    bool finished_ = false;
};

}  // namespace vramtrace::trace
