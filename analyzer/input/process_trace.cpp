// SPDX-License-Identifier: Apache-2.0
#include "analyzer/input/process_trace.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "trace/container/collector_lock.h"
#include "trace/container/input_error.h"
#include "trace/trace_name.h"

namespace vramtrace::input {

using namespace trace;

namespace {

constexpr size_t kRingBatch = 16384;
constexpr auto kPatience = std::chrono::seconds(3);  // for a collector to complete a dead process's container
constexpr auto kLook = std::chrono::milliseconds(10);

uint64_t monotonic() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<uint64_t>(now.tv_nsec);
}

ProcessIdentity terminated(ProcessIdentity identity) {
    identity.boot_id[sizeof(identity.boot_id) - 1] = '\0';
    identity.host[sizeof(identity.host) - 1] = '\0';
    return identity;
}

}  // namespace

ProcessTrace::ProcessTrace(const ProcessFiles& files) : files_(files) {
    const bool ring = open_ring();
    const bool container = open_container();
    if (container) {
        status_.identity = container_->status().identity;
    } else if (ring) {
        status_.identity = terminated(ring_->header()->identity);
    } else {
        const OpenError error = ring_files_ ? ring_files_->last_error() : OpenError::NotFound;
        if (error == OpenError::NotFound || error == OpenError::None) throw InputError(container_problem_);
        throw InputError(files_.ring_prefix + suffix::kRing + " " + open_error_text(error) + ".");
    }
    this_machine_ = of_machine(status_.identity, this_machine());
    if (this_machine_) watch_ = std::make_unique<ProcessWatch>(status_.identity);
}

ProcessTrace::~ProcessTrace() = default;

bool ProcessTrace::open_container() {
    if (container_) return true;
    if (files_.container.empty()) return false;
    try {
        container_ = std::make_unique<ContainerReader>(files_.container, &definitions_);
        container_->seek(next_ticket_);
    } catch (const InputError& error) {
        container_problem_ = error.what();
    }
    return container_ != nullptr;
}

// Not there yet, or a collector is just writing (or died while writing) its header: then the ring has everything.
bool ProcessTrace::container_is_new() const {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(files_.container, error);
    return ring_ != nullptr && (error || bytes < kContainerHeaderBytes);
}

bool ProcessTrace::open_ring() {
    if (ring_) return true;
    if (files_.ring_prefix.empty()) return false;
    ring_files_ = std::make_unique<RingFiles>(files_.ring_prefix.c_str(), FileMode::ReadOnly, false);
    if (ring_files_->open() != OpenError::None) return false;
    ring_ = std::make_unique<RingReader>(*ring_files_, ReaderRole::Live);
    if (!ring_->open()) ring_.reset();
    // Opened now, though it is read later: once the collector has removed the files, only their openers have them.
    if (ring_ && !definition_file_open_) {
        const std::string path = files_.ring_prefix + suffix::kDefinitions;
        definition_file_open_ = definition_file_.open(path.c_str()) == OpenError::None;
    }
    return ring_ != nullptr;
}

bool ProcessTrace::process_alive() {
    if (watch_) return watch_->alive();
    // Another machine's or container's: its collector watches it, and goes when it is gone.
    return CollectorLock::held(files_.directory, status_.identity);
}

bool ProcessTrace::next_batch(std::vector<Event>& batch) {
    batch.clear();
    while (phase_ != Phase::Done) {
        if (phase_ == Phase::Container ? read_container(batch) : read_ring(batch)) return true;
    }
    batch.clear();
    return false;
}

bool ProcessTrace::read_container(std::vector<Event>& batch) {
    if (open_container()) {
        container_->seek(next_ticket_);
        if (container_->next_batch(batch)) {
            next_ticket_ = container_->next_ticket();
            // A report on a running job would else run after its collector for ever.
            if (running_ && batch.back().time > cut_off_) phase_ = Phase::Ring;
            return true;
        }
        next_ticket_ = std::max(next_ticket_, container_->next_ticket());
    }
    phase_ = Phase::Ring;
    return false;
}

// Decided when the container was read to its end for the first time, and again when a running process has died
// meanwhile.
void ProcessTrace::choose_role() {
    role_chosen_ = true;
    running_ = process_alive();
    if (running_) {
        if (this_machine_) cut_off_ = monotonic();
        return;
    }
    await_collector();
    ring_void_ += ring_->void_tickets();
    ring_ = std::make_unique<RingReader>(*ring_files_, ReaderRole::PostMortem);
    ring_->open();
    held_end_ = 0;
}

// The process is dead: a collector that is still there will complete the container and remove the ring, which we have
// mapped. If it cannot (full disk), the ring keeps what it could not write.
void ProcessTrace::await_collector() {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    const std::string path = files_.ring_prefix + suffix::kRing;
    while (CollectorLock::held(files_.directory, status_.identity) && std::chrono::steady_clock::now() < until) {
        MappedFile still_there;
        if (open_ring_segment(path.c_str(), FileMode::ReadOnly, still_there) == OpenError::NotFound) return;
        std::this_thread::sleep_for(kLook);
    }
}

bool ProcessTrace::read_ring(std::vector<Event>& batch) {
    if (!open_ring()) {
        // The collector may have completed the container after we had read it: look into it once more.
        if (!ring_gone_ && !files_.ring_prefix.empty()) {
            ring_gone_ = true;
            phase_ = Phase::Container;
            return false;
        }
        finish();
        return false;
    }
    if (!role_chosen_) {
        choose_role();
        phase_ = Phase::Container;  // what a collector has written in the meantime comes first
        return false;
    }
    if (held_end_ <= next_ticket_) {
        ring_->seek(next_ticket_);
        held_.resize(kRingBatch);
        const auto result = ring_->next_batch(held_, 0, false);
        held_.resize(result.events);
        held_end_ = ring_->position();
        held_result_ = result.end;
        held_at_ = 0;
        if (!held_.empty()) lay_definitions();
    }
    if (give_held(batch)) {
        if (running_ && batch.back().time > cut_off_) finish();
        return true;
    }
    if (phase_ == Phase::Ring && held_end_ <= next_ticket_) after_ring_batch();
    return false;
}

// Gives held events up to the first gap. A gap is tickets without events, or slots that the collector gave back while
// we were on our way to them; then the container has them: it is asked before the gap is believed.
bool ProcessTrace::give_held(std::vector<Event>& batch) {
    while (held_at_ < held_.size() && held_[held_at_].sequence < next_ticket_) ++held_at_;
    const uint64_t next = held_at_ < held_.size() ? held_[held_at_].sequence : held_end_;
    if (next > next_ticket_) {
        if (asked_for_ != next_ticket_) {
            asked_for_ = next_ticket_;
            phase_ = Phase::Container;
            return false;
        }
        ring_gaps_ += next - next_ticket_;
        next_ticket_ = next;
    }
    for (; held_at_ < held_.size() && held_[held_at_].sequence == next_ticket_; ++next_ticket_) {
        batch.push_back(held_[held_at_++]);
    }
    return !batch.empty();
}

// All of the last batch is given: what did the ring say then?
void ProcessTrace::after_ring_batch() {
    switch (held_result_) {
        case BatchEnd::Full:
            break;
        case BatchEnd::Recycled:
            if (recycled_at_ == next_ticket_) skip_recycled();
            recycled_at_ = next_ticket_;
            phase_ = Phase::Container;
            break;
        case BatchEnd::Damaged:
            warn("The ring of process " + std::to_string(identity().pid) + " is damaged at event " +
                 std::to_string(next_ticket_) + "; what follows could not be read.");
            finish();
            break;
        case BatchEnd::Idle:
            if (running_ && !process_alive())
                role_chosen_ = false;
            else
                finish();
            break;
        case BatchEnd::Finished:
            finish();
            break;
    }
}

// Slots were given back and the container has not got them: its blocks there are damaged, or it was taken away.
void ProcessTrace::skip_recycled() {
    uint64_t to = next_ticket_ + 1;
    const uint32_t segments = ring_->header()->segments.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < segments; ++i) {
        const auto view = ring_files_->segment(i);
        if (view.header == nullptr || view.header->first_ticket > next_ticket_) continue;
        to = std::max(to, view.header->first_ticket + view.header->tail.load(std::memory_order_acquire));
    }
    missing_ += to - next_ticket_;
    next_ticket_ = to;
}

void ProcessTrace::lay_definitions() {
    if (!definition_file_open_) return;
    definition_file_.refresh();
    const auto image = definition_file_.image();
    for (RecordView record = scanner_.next(image); record.state == RecordState::Good; record = scanner_.next(image)) {
        definitions_.lay(uint64_t{record.id} * kDefinitionAlignment, DefinitionScanner::bytes(image, record));
    }
}

void ProcessTrace::warn(const std::string& sentence) {
    status_.warnings.push_back(sentence);
}

void ProcessTrace::finish() {
    phase_ = Phase::Done;
    if (ring_) lay_definitions();
    open_container();  // a collector may have begun it since we looked last
    const std::vector<std::string> ours = status_.warnings;
    const ProcessIdentity identity = status_.identity;
    if (container_) {
        container_->seek(next_ticket_);
        container_->finish(!ring_);
        status_ = container_->status();
        status_.identity = identity;
        status_.warnings.insert(status_.warnings.end(), ours.begin(), ours.end());
    } else if (!container_problem_.empty() && !container_is_new()) {
        warn(container_problem_);
    }
    status_.missing_tickets += missing_;
    if (ring_) {
        const uint64_t voids = ring_void_ + ring_->void_tickets();
        if (ring_gaps_ > voids) status_.missing_tickets += ring_gaps_ - voids;
        read_losses(*ring_->header(), voids, status_.losses);
        status_.first_loss_time = ring_->header()->first_loss_time.load(std::memory_order_relaxed);
        const std::string no_room = no_room_sentence(ring_->header()->append_error.load(std::memory_order_relaxed));
        const auto& told = status_.warnings;
        if (!no_room.empty() && std::find(told.begin(), told.end(), no_room) == told.end()) warn(no_room);
        if (!running_ && !(container_ && container_->ended())) {
            status_.in_flight.resize(kInFlightSlots);
            status_.in_flight.resize(read_in_flight(*ring_->header(), status_.in_flight));
            std::sort(status_.in_flight.begin(), status_.in_flight.end());
        }
    }
    finish_end();
}

void ProcessTrace::finish_end() {
    using End = SourceStatus::End;
    const bool ended = container_ && container_->ended();
    if (!ended) {
        status_.running = ring_ ? running_ : process_alive();
        status_.end = status_.running ? End::Running : this_machine_ ? End::Vanished : End::Unknown;
        if (!ring_ && !status_.running) {
            warn("The trace breaks off: it has no end, and the ring with the last events of process " +
                 std::to_string(identity().pid) + " is not there. Events may be missing.");
        }
    }
    if (files_.followed_by_exec) {
        status_.end = End::Exec;
        status_.running = false;
    } else if (files_.run && files_.run->is_of(identity())) {
        if (files_.run->signal) {
            status_.end = End::Signalled;
            status_.end_value = *files_.run->signal;
        } else if (files_.run->exit_code) {
            status_.end = End::Exited;
            status_.end_value = *files_.run->exit_code;
        }
        if (files_.run->signal || files_.run->exit_code) status_.running = false;
        if (files_.run->end_time != 0) status_.end_time = files_.run->end_time;
    }
    if (status_.end != End::Exited && status_.end != End::Signalled) status_.end_value = -1;
}

uint64_t ProcessTrace::bytes_done() const {
    return container_ ? container_->bytes_done() : 0;
}

uint64_t ProcessTrace::bytes_total() const {
    return container_ ? container_->bytes_total() : 0;
}

const std::vector<ClockPair>& ProcessTrace::clocks() const {
    static const std::vector<ClockPair> none;
    return container_ ? container_->clocks() : none;
}

std::vector<std::pair<std::string, std::string>> read_facts(const DefinitionView& definitions) {
    std::vector<std::pair<std::string, std::string>> facts;
    definitions.for_each([&](DefinitionId, DefinitionKind kind, std::span<const std::byte> body) {
        if (kind != DefinitionKind::Fact) return;
        const std::string text(reinterpret_cast<const char*>(body.data()), body.size());
        const size_t end = text.find('\0');
        if (end != std::string::npos) facts.emplace_back(text.substr(0, end), text.substr(end + 1));
    });
    return facts;
}

}  // namespace vramtrace::input
