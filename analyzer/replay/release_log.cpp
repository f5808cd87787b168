// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/release_log.h"

#include <algorithm>

namespace vramtrace::replay {

ReleaseRecord& ReleaseLog::open(const trace::Event& event) {
    OfThread& thread = of_thread(event.thread);
    ReleaseRecord& record = thread.records[thread.next];
    thread.next = (thread.next + 1) % kDepth;
    thread.last_ticket = event.sequence;
    clear(record);
    record.ticket = event.sequence;
    record.kind = event.kind;
    record.known = true;
    record.matched = true;
    return record;
}

ReleaseRecord* ReleaseLog::find(uint64_t ticket, uint32_t thread) {
    const auto in = [ticket](OfThread& candidate) -> ReleaseRecord* {
        for (ReleaseRecord& record : candidate.records) {
            if (record.known && record.ticket == ticket) return &record;
        }
        return nullptr;
    };
    if (const auto place = threads_.find(thread); place != threads_.end()) {
        if (ReleaseRecord* record = in(*place->second)) return record;
    }
    for (auto& [id, candidate] : threads_) {
        if (ReleaseRecord* record = in(*candidate)) return record;
    }
    return nullptr;
}

void ReleaseLog::close(ReleaseRecord& record) {
    record.ended.clear();  // revived or disposed by the caller
    clear(record);
}

ReleaseLog::OfThread& ReleaseLog::of_thread(uint32_t thread) {
    if (cached_ != nullptr && cached_thread_ == thread) return *cached_;
    auto& place = threads_[thread];
    if (place == nullptr) {
        place = std::make_unique<OfThread>();
        OfThread* made = place.get();
        if (threads_.size() > kThreads) {
            made->last_ticket = UINT64_MAX;  // not itself
            forget_silent_threads();
        }
        cached_ = made;
    } else {
        cached_ = place.get();
    }
    cached_thread_ = thread;
    return *cached_;
}

void ReleaseLog::forget_silent_threads() {
    std::vector<uint64_t> tickets;
    tickets.reserve(threads_.size());
    for (const auto& [id, thread] : threads_) tickets.push_back(thread->last_ticket);
    const auto middle = tickets.begin() + static_cast<std::ptrdiff_t>(tickets.size() / 2);
    std::nth_element(tickets.begin(), middle, tickets.end());
    for (auto place = threads_.begin(); place != threads_.end();) {
        if (place->second->last_ticket >= *middle) {
            ++place;
            continue;
        }
        for (ReleaseRecord& record : place->second->records) clear(record);
        place = threads_.erase(place);
    }
}

void ReleaseLog::clear(ReleaseRecord& record) {
    for (const Ended& ended : record.ended) live_.dispose(ended.allocation);
    // A context's end parks everything it held: give that room back, keep the usual one or two places.
    if (record.ended.capacity() > 64) std::vector<Ended>().swap(record.ended);
    record.ended.clear();
    record.take_back.clear();
    record.known = false;
}

}  // namespace vramtrace::replay
