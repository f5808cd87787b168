// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/core.h"

#include <utility>

namespace vramtrace::replay {

Allocation Core::made_by(const trace::Event& event, Kind kind) {
    Allocation made;
    made.birth = {event.sequence, event.time};
    made.stack = event.stack;
    made.thread = event.thread;
    made.context = event.context;
    made.kind = kind;
    made.device = event.device;
    made.api = event.api;
    made.label = event.label;
    return made;
}

Origin Core::origin(const trace::Event& event, Kind kind, uint8_t device) {
    const uint8_t counted = counted_per_device(quantity_of(kind)) ? device : trace::kNoDevice;
    return Origin{sites_.intern({event.stack, event.api, event.label, kind, counted}),
                  event.stack,
                  event.thread,
                  event.context,
                  device,
                  event.api,
                  event.label};
}

Allocation* Core::allocate(Allocation allocation, const trace::Event& event) {
    allocation.id = ++last_id_;
    allocation.tag = tag_;
    allocation.site = sites_.intern(
        {allocation.stack, allocation.api, allocation.label, allocation.kind, allocation.counted_device()});
    Allocation* made = live_.insert_or_conflict(allocation);
    if (made->id != allocation.id) {
        // Its end was never seen: an event is missing.
        ++oddities_.lost_frees;
        end(made, Ending::LostFree, event);
        made = live_.insert_or_conflict(allocation);
    }
    for (Observer* observer : observers_) observer->on_allocate(*made);
    return made;
}

void Core::end(Allocation* allocation, Ending ending, const trace::Event& event) {
    const Release release{ending, {event.sequence, event.time}, event.stack, event.thread, event.api, event.label};
    live_.remove(allocation);
    for (Observer* observer : observers_) observer->on_release(*allocation, release);
    if (open_ != nullptr) {
        open_->release = release;
        open_->ended.push_back({allocation, ending});
    } else {
        live_.dispose(allocation);
    }
}

bool Core::release(Space space, uint64_t name, const trace::Event& event) {
    Allocation* allocation = live_.find(space, name);
    if (allocation == nullptr) {
        unmatched_release(event);
        return false;
    }
    end(allocation, Ending::Freed, event);
    return true;
}

void Core::unmatched_release(const trace::Event& event) {
    ++oddities_.unmatched_releases;
    ++oddities_.unmatched_by_kind[event.kind];
    if (open_ != nullptr) open_->matched = false;
}

void Core::unmatched_use(const trace::Event& event) {
    ++oddities_.unmatched_uses;
    ++oddities_.unmatched_by_kind[event.kind];
}

void Core::begin_release(const trace::Event& event) {
    open_ = &log_.open(event);
}

void Core::on_refusal(std::function<void()> take_back) {
    if (open_ != nullptr) open_->take_back.push_back(std::move(take_back));
}

void Core::refuse(const trace::Event& free_failed, bool context_gone) {
    ReleaseRecord* record = log_.find(free_failed.size, free_failed.thread);
    if (record == nullptr) {
        ++oddities_.refused_unknown;
        return;
    }
    if (context_gone) {
        // The driver is right to refuse, but nothing is held any more: the release stands under another name.
        ++oddities_.context_lost;
        if (!record->matched) forget_unmatched(*record);
        settle(*record, &Observer::on_context_lost);
        return;
    }
    if (!record->matched) {
        // A wrong free, refused: the program's affair, and no sign of a missing event.
        forget_unmatched(*record);
        ++oddities_.refused_unknown;
    } else {
        ++oddities_.refused_releases;
    }
    for (size_t i = record->ended.size(); i-- > 0;) {
        const auto [allocation, ending] = record->ended[i];
        record->release.ending = ending;
        if (live_.revive(allocation)) {
            for (Observer* observer : observers_)
                observer->on_restore(*allocation, record->release, {free_failed.sequence, free_failed.time});
        } else {
            // Its name was given out again meanwhile: the refusal cannot be what it says, the end stands.
            ++oddities_.refused_unknown;
            live_.dispose(allocation);
        }
    }
    for (size_t i = record->take_back.size(); i-- > 0;) record->take_back[i]();
    log_.close(*record);
}

void Core::forget_unmatched(const ReleaseRecord& record) {
    --oddities_.unmatched_releases;
    if (--oddities_.unmatched_by_kind[record.kind] == 0) oddities_.unmatched_by_kind.erase(record.kind);
}

void Core::in_flight(uint64_t ticket) {
    if (ReleaseRecord* record = log_.find(ticket, 0)) {
        settle(*record, &Observer::on_in_flight);
    } else {
        ++oddities_.in_flight_unknown;
    }
}

void Core::settle(ReleaseRecord& record, Verdict tell) {
    for (const auto& [allocation, ending] : record.ended) {
        record.release.ending = ending;
        for (Observer* observer : observers_) (observer->*tell)(*allocation, record.release);
        live_.dispose(allocation);
    }
    log_.close(record);
}

}  // namespace vramtrace::replay
