// SPDX-License-Identifier: Apache-2.0
#include "analyzer/collect/ring_drain.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "trace/container/test_point.h"
#include "trace/trace_name.h"

namespace vramtrace::collect {

using namespace trace;

namespace {

// What is not yet in the container is in the ring, and read from there: where both lie in one directory nothing is lost
// by waiting, and larger blocks pack better. A ring in /dev/shm may vanish with its container: then it is copied soon.
constexpr uint64_t kBlockAge = 2'000'000'000;
constexpr uint64_t kBlockAgeOfRingElsewhere = 100'000'000;
constexpr uint64_t kStopCheck = 100'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kDefinitionRange = 1U << 20;
constexpr int kBatchesPerRound = 32;  // then the other processes have their turn

uint64_t nanoseconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

std::string prefix_of(const std::string& directory, const std::string& stem) {
    std::vector<char> buffer(kMaxPath);
    const size_t length = ring_prefix(directory.c_str(), stem.c_str(), buffer.data(), buffer.size());
    return std::string(buffer.data(), length);
}

}  // namespace

RingDrain::RingDrain(const std::string& directory, const std::string& stem)
    : directory_(directory),
      stem_(stem),
      prefix_(prefix_of(directory, stem)),
      block_age_(prefix_ == directory + "/" + stem ? kBlockAge : kBlockAgeOfRingElsewhere),
      files_(std::make_unique<RingFiles>(prefix_.c_str(), FileMode::ReadWrite, true)),
      reader_(*files_, ReaderRole::Collector) {}

RingDrain::~RingDrain() = default;

OpenError RingDrain::open_ring() {
    if (prefix_.empty()) return OpenError::NotReady;
    const OpenError error = files_->open();
    if (error != OpenError::None) return error;
    if (!reader_.open()) return OpenError::Damaged;
    return OpenError::None;
}

bool RingDrain::open_container(std::string& problem) {
    const std::string path = directory_ + "/" + stem_ + suffix::kContainer;
    try {
        writer_ = std::make_unique<ContainerWriter>(path, identity());
    } catch (const std::exception& error) {
        problem = error.what();
        return false;
    }
    watch_ = std::make_unique<ProcessWatch>(identity());
    // What the container has is not read again, even where the tail does not know it yet.
    reader_.seek(writer_->next_ticket());
    batch_first_ = reader_.position();
    scanner_.start_at(writer_->definitions_end());
    batch_.resize(batch_room());
    return true;
}

// A block must not hold back so many slots of a small ring that the job has to wait for it to ripen.
size_t RingDrain::batch_room() const {
    return std::clamp<size_t>(reader_.header()->slot_count / 4, 1, kMaxBlockEvents);
}

// A writer of a stopped job is not dead and will commit when it goes on: then nothing expires.
uint64_t RingDrain::stall_clock(uint64_t now) {
    if (now - stopped_checked_ >= kStopCheck) {
        stopped_checked_ = now;
        stopped_ = watch_->stopped();
    }
    return stopped_ ? 0 : now;
}

BatchEnd RingDrain::read(uint64_t now, bool process_dead) {
    if (damaged_) return process_dead ? BatchEnd::Finished : BatchEnd::Idle;
    if (batch_events_ == batch_.size()) return BatchEnd::Full;
    const bool empty = reader_.position() == batch_first_;
    const auto result = reader_.next_batch(std::span(batch_).subspan(batch_events_),
                                           process_dead ? now : stall_clock(now), process_dead);
    batch_events_ += result.events;
    if (empty && reader_.position() != batch_first_) batch_since_ = now;
    if (result.end == BatchEnd::Damaged) {
        damaged_ = true;
        note("The ring of this process is damaged at event " + std::to_string(reader_.position()) +
             "; what follows could not be read.");
    }
    return result.end;
}

RingDrain::Round RingDrain::round(uint64_t now, bool may_write) {
    Round round;
    RingHeader* header = reader_.writable_header();
    header->collector_pid.store(static_cast<uint32_t>(getpid()), std::memory_order_relaxed);
    // release, pairs with the job's reading of it: whoever sees the beat sees the pid.
    header->heartbeat.store(now, std::memory_order_release);
    for (int i = 0; i < kBatchesPerRound; ++i) {
        const uint64_t before = reader_.position();
        const BatchEnd end = read(now, false);
        round.busy = round.busy || reader_.position() != before;
        const bool full = batch_events_ == batch_.size();
        const bool ripe = reader_.position() != batch_first_ && now - batch_since_ >= block_age_;
        if (full || ripe) {
            if (!may_write || !write_batch()) {
                round.blocked = true;
                return round;
            }
        }
        if (end != BatchEnd::Full) break;
    }
    if (may_write && !(write_clocks(now) && write_status(now, false))) round.blocked = true;
    return round;
}

bool RingDrain::flush(uint64_t now) {
    while (true) {
        const BatchEnd end = read(now, false);
        if (!write_batch()) return false;
        if (end != BatchEnd::Full || nanoseconds(CLOCK_MONOTONIC) - now > kSecond / 2) break;
    }
    return write_clocks(now) && write_status(now, true);
}

bool RingDrain::write_batch() {
    if (reader_.position() == batch_first_) return true;
    test_point("batch read");
    if (!write_definitions()) return false;
    test_point("definitions written");
    const uint64_t tickets = reader_.position() - batch_first_;
    if (!writer_->append_events(std::span(batch_).first(batch_events_), batch_first_, static_cast<uint32_t>(tickets))) {
        return false;
    }
    test_point("events written");
    reader_.advance_tail(reader_.position());
    test_point("tail advanced");
    batch_first_ = reader_.position();
    batch_events_ = 0;
    return true;
}

bool RingDrain::write_definitions() {
    if (!definitions_open_) {
        const std::string path = prefix_ + suffix::kDefinitions;
        definitions_error_ = definitions_.open(path.c_str());
        definitions_open_ = definitions_error_ == OpenError::None;
        if (!definitions_open_) return true;  // events without stacks are better than none; finish() tells
    }
    definitions_.refresh();
    const auto image = definitions_.image();
    for (;;) {
        const RecordView record = scanner_.next(image);
        if (record.state != RecordState::Good) break;
        const auto bytes = DefinitionScanner::bytes(image, record);
        const uint64_t offset = uint64_t{record.id} * kDefinitionAlignment;
        const bool adjacent = !unwritten_.empty() &&
                              unwritten_.back().first + unwritten_.back().second.size() == offset &&
                              unwritten_.back().second.size() < kDefinitionRange;
        if (!adjacent) unwritten_.emplace_back(offset, std::vector<std::byte>());
        unwritten_.back().second.insert(unwritten_.back().second.end(), bytes.begin(), bytes.end());
    }
    size_t done = 0;
    while (done < unwritten_.size() && writer_->append_definitions(unwritten_[done].first, unwritten_[done].second))
        ++done;
    unwritten_.erase(unwritten_.begin(), unwritten_.begin() + static_cast<ptrdiff_t>(done));
    return unwritten_.empty();
}

bool RingDrain::write_clocks(uint64_t now) {
    // Pairs are for aligning events: without new events there is nothing to align.
    if (now - clocks_time_ < kSecond || clocks_ticket_ == writer_->next_ticket()) return true;
    ClockPair pair;
    const uint64_t before = nanoseconds(CLOCK_MONOTONIC);
    pair.realtime = nanoseconds(CLOCK_REALTIME);
    pair.monotonic = before + (nanoseconds(CLOCK_MONOTONIC) - before) / 2;
    if (!writer_->append_clocks(pair)) return false;
    clocks_time_ = now;
    clocks_ticket_ = writer_->next_ticket();
    return true;
}

StatusRecord RingDrain::current_status() const {
    StatusRecord status;
    read_losses(*reader_.header(), 0, status.losses);
    status.notes = notes_;
    const std::string no_room = no_room_sentence(reader_.header()->append_error.load(std::memory_order_relaxed));
    if (!no_room.empty()) status.notes.push_back(no_room);
    status.first_loss_time = reader_.header()->first_loss_time.load(std::memory_order_relaxed);
    status.missing_tickets = reader_.missing_tickets();
    return status;
}

bool RingDrain::write_status(uint64_t now, bool at_once) {
    if (!at_once && now - status_time_ < kSecond) return true;
    const StatusRecord status = current_status();
    if (!(status == written_status_)) {
        if (!writer_->append_status(status)) return false;
        written_status_ = status;
    }
    status_time_ = now;
    return true;
}

bool RingDrain::finish(uint64_t now, SourceStatus::End end) {
    for (;;) {
        const BatchEnd how = read(now, true);
        if (!write_batch()) return false;
        if (how == BatchEnd::Finished || damaged_) break;
    }
    if (!writer_->ended()) {
        if (!write_definitions() || !write_clocks(now)) return false;
        if (!definitions_open_ && reader_.position() > 0) {
            note(std::string("The file with call stacks and names of this process ") +
                 open_error_text(definitions_error_) + ".");
        }
        EndRecord record;
        record.end = end;
        record.time = now;
        record.status = current_status();
        record.in_flight.resize(kInFlightSlots);
        record.in_flight.resize(read_in_flight(*reader_.header(), record.in_flight));
        std::sort(record.in_flight.begin(), record.in_flight.end());
        if (!writer_->append_end(record, reader_.position())) return false;
        test_point("end written");
    }
    if (damaged_) return true;  // the ring stays where it is: it may hold more than we could read
    files_->remove_all();
    test_point("ring removed");
    unlink((directory_ + "/" + stem_ + suffix::kWhere).c_str());
    return true;
}

void RingDrain::leave() {
    reader_.writable_header()->collector_pid.store(0, std::memory_order_relaxed);
}

void RingDrain::note(const std::string& sentence) {
    if (std::find(notes_.begin(), notes_.end(), sentence) == notes_.end()) notes_.push_back(sentence);
}

}  // namespace vramtrace::collect
