// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/container/container_writer.h"
#include "trace/container/process_watch.h"
#include "trace/ring/definition_image.h"
#include "trace/ring/ring_file.h"
#include "trace/ring/ring_reader.h"

// ONE PROCESS'S RING → ITS CONTAINER.
//
//   committed slots ─► batch ─(full, or 2 s old)─► definitions block ─► events block ─► tail of the ring
//
// The order is the promise: what an events block names is in the file before it, and slots are given back only after
// their block is. Dying between any two steps loses nothing and repeats nothing: the container's tickets say where to
// go on.
namespace vramtrace::collect {

class RingDrain {
public:
    RingDrain(const std::string& directory, const std::string& stem);
    ~RingDrain();
    RingDrain(const RingDrain&) = delete;
    RingDrain& operator=(const RingDrain&) = delete;

    // The ring, then the container. Only once the ring is open (None) may the rest be called. `problem` (a sentence) if
    // the container cannot be written to; then there is nothing to be done for this process.
    trace::OpenError open_ring();
    bool open_container(std::string& problem);

    const std::string& stem() const { return stem_; }
    const trace::ProcessIdentity& identity() const { return reader_.header()->identity; }
    trace::ProcessWatch& watch() { return *watch_; }

    struct Round {
        bool busy = false;     // read something: come back soon
        bool blocked = false;  // a block could not be written: error() says why; nothing is lost, the ring keeps it
    };
    // Reads what is there and writes ripe blocks. `may_write` false: reads no more than one batch ahead.
    Round round(uint64_t now, bool may_write);
    // Writes all that was read, ripe or not. False: blocked.
    bool flush(uint64_t now);
    // The process will write no more: drains the rest, seals the container, removes ring and definitions. False:
    // blocked.
    bool finish(uint64_t now, trace::SourceStatus::End end);
    // Leaves the ring to others: says in its header that no collector is there.
    void leave();

    // Says into the report that something was wrong; once a sentence.
    void note(const std::string& sentence);
    int error() const { return writer_->error(); }
    bool damaged() const { return damaged_; }
    uint64_t cut_bytes() const { return writer_->cut_bytes(); }

private:
    trace::BatchEnd read(uint64_t now, bool process_dead);
    bool write_batch();
    bool write_definitions();
    bool write_clocks(uint64_t now);
    bool write_status(uint64_t now, bool at_once);
    trace::StatusRecord current_status() const;
    size_t batch_room() const;
    uint64_t stall_clock(uint64_t now);

    std::string directory_, stem_, prefix_;
    uint64_t block_age_;  // ns after which a batch is written though it is not full
    std::unique_ptr<trace::RingFiles> files_;
    trace::RingReader reader_;
    trace::DefinitionFile definitions_;
    bool definitions_open_ = false;
    trace::OpenError definitions_error_ = trace::OpenError::None;
    trace::DefinitionScanner scanner_;
    std::vector<std::pair<uint64_t, std::vector<std::byte>>> unwritten_;  // definitions taken from the scanner
    std::unique_ptr<trace::ContainerWriter> writer_;
    std::unique_ptr<trace::ProcessWatch> watch_;

    std::vector<trace::Event> batch_;
    size_t batch_events_ = 0;
    uint64_t batch_first_ = 0;  // ticket of the block that the batch will be
    uint64_t batch_since_ = 0;
    bool damaged_ = false;

    std::vector<std::string> notes_;
    trace::StatusRecord written_status_;
    uint64_t status_time_ = 0;
    uint64_t clocks_time_ = 0;
    uint64_t clocks_ticket_ = ~0ULL;
    uint64_t stopped_checked_ = 0;
    bool stopped_ = false;
};

}  // namespace vramtrace::collect
