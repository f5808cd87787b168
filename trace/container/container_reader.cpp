// SPDX-License-Identifier: Apache-2.0
#include "trace/container/container_reader.h"

#include <algorithm>

namespace vramtrace::trace {
namespace {

constexpr size_t kMaxWarnings = 20;
constexpr size_t kMaxClocks = 1U << 16;

}  // namespace

ContainerReader::ContainerReader(const std::string& path, DefinitionStore* definitions)
    : path_(path),
      file_(path),
      own_definitions_(definitions == nullptr ? std::make_unique<DefinitionStore>() : nullptr),
      definitions_(definitions == nullptr ? own_definitions_.get() : definitions) {
    status_.identity = file_.header().identity;
    status_.identity.boot_id[sizeof(status_.identity.boot_id) - 1] = '\0';
    status_.identity.host[sizeof(status_.identity.host) - 1] = '\0';
    if (file_.header_damaged()) {
        warn("The header of " + path_ + " is damaged: process, host and clocks may be wrong.");
    }
}

void ContainerReader::warn(const std::string& sentence) {
    if (status_.warnings.size() < kMaxWarnings) status_.warnings.push_back(sentence);
}

void ContainerReader::damaged(const char* what) {
    ++damaged_blocks_;
    warn("The block at byte " + std::to_string(file_.block_offset()) + " of " + path_ + " (" + what +
         ") is damaged and was left out.");
}

bool ContainerReader::next_batch(std::vector<Event>& batch) {
    batch.clear();
    while (batch.empty() && file_.next()) {
        if (file_.skipped_bytes() > told_skipped_) {
            warn("In " + path_ + ", " + std::to_string(file_.skipped_bytes() - told_skipped_) + " bytes before byte " +
                 std::to_string(file_.block_offset()) + " are damaged and were left out.");
            told_skipped_ = file_.skipped_bytes();
        }
        const BlockHeader& block = file_.block();
        if (block.kind < BlockKind::Events || block.kind > BlockKind::End) {
            ++unknown_blocks_;
            continue;
        }
        if (!opener_.open(block, file_.payload(), raw_)) {
            damaged("checksum");
            // Its header still tells which tickets are lost with it, even when no events follow.
            if (block.kind == BlockKind::Events) {
                total_tickets_ = std::max(total_tickets_, block.first_ticket + block.ticket_count);
            }
            continue;
        }
        switch (block.kind) {
            case BlockKind::Events:
                take_events(batch);
                break;
            case BlockKind::Definitions:
                if (!definitions_->lay(block.position, raw_)) damaged("definitions out of range");
                break;
            case BlockKind::Clocks: {
                BoundedCursor in(raw_);
                const auto pair = in.fixed<ClockPair>();
                if (!in.ok()) damaged("clocks");
                if (in.ok() && clocks_.size() < kMaxClocks) clocks_.push_back(pair);
                break;
            }
            case BlockKind::Status: {
                StatusRecord record;
                if (decode(raw_, record))
                    take_status(record);
                else
                    damaged("status");
                break;
            }
            default: {
                EndRecord record;
                if (!decode(raw_, record)) {
                    damaged("end");
                    break;
                }
                take_status(record.status);
                status_.end = record.end;
                status_.end_value = record.value;
                status_.end_time = record.time;
                status_.in_flight = record.in_flight;
                total_tickets_ = std::max(total_tickets_, block.first_ticket);
                ended_ = true;
            }
        }
    }
    return !batch.empty();
}

void ContainerReader::take_events(std::vector<Event>& batch) {
    const BlockHeader& block = file_.block();
    if (!decoder_.decode(raw_, block.first_ticket, block.ticket_count, batch)) {
        damaged("events");
        return;
    }
    const uint64_t end = block.first_ticket + block.ticket_count;
    if (end <= next_ticket_) {
        batch.clear();  // given before, from elsewhere
        return;
    }
    if (block.first_ticket > next_ticket_) status_.missing_tickets += block.first_ticket - next_ticket_;
    if (block.first_ticket < next_ticket_) {
        const auto known = std::find_if(batch.begin(), batch.end(),
                                        [this](const Event& event) { return event.sequence >= next_ticket_; });
        batch.erase(batch.begin(), known);
    }
    void_tickets_ += end - std::max(next_ticket_, block.first_ticket) - batch.size();
    next_ticket_ = end;
}

void ContainerReader::take_status(const StatusRecord& record) {
    std::copy(std::begin(record.losses), std::end(record.losses), std::begin(status_.losses));
    if (record.first_loss_time != 0) status_.first_loss_time = record.first_loss_time;
    // A total of that collector: a later one starts again at 0.
    if (record.missing_tickets > reported_missing_)
        status_.missing_tickets += record.missing_tickets - reported_missing_;
    reported_missing_ = record.missing_tickets;
    for (const std::string& note : record.notes) {
        if (std::find(notes_.begin(), notes_.end(), note) != notes_.end() || notes_.size() >= kMaxWarnings) continue;
        notes_.push_back(note);
        warn(note);
    }
}

void ContainerReader::finish(bool tell_torn_tail) {
    if (finished_) return;
    finished_ = true;
    if (total_tickets_ > next_ticket_) {
        status_.missing_tickets += total_tickets_ - next_ticket_;
        next_ticket_ = total_tickets_;
    }
    if (tell_torn_tail && file_.tail_bytes() > 0) {
        warn("The last " + std::to_string(file_.tail_bytes()) + " bytes of " + path_ +
             " are no complete block and were left out.");
    }
    if (unknown_blocks_ > 0) {
        warn(path_ + " holds " + std::to_string(unknown_blocks_) +
             " blocks of kinds that this version does not know; they were passed over.");
    }
    if (damaged_blocks_ > kMaxWarnings) {
        status_.warnings.push_back(std::to_string(damaged_blocks_) + " blocks of " + path_ + " are damaged in all.");
    }
}

}  // namespace vramtrace::trace
