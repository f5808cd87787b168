// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/threads.h"

#include <algorithm>

namespace vramtrace::accounts {

void Threads::touch(const trace::Event& event) {
    const Moment now{event.sequence, event.time};
    if (last_ == nullptr || last_->thread != event.thread) {
        auto place = threads_.find(event.thread);
        if (place == threads_.end()) {
            if (threads_.size() >= kThreads) forget_silent();
            place = threads_.try_emplace(event.thread).first;
            place->second.thread = event.thread;
            place->second.first = now;
        }
        last_ = &place->second;
    }
    last_->last = now;
    ++last_->events;
    if (event.device != trace::kNoDevice) last_->device = event.device;
}

void Threads::forget_silent() {
    std::vector<uint64_t> tickets;
    tickets.reserve(threads_.size());
    for (const auto& [id, thread] : threads_) tickets.push_back(thread.last.ticket);
    const auto middle = tickets.begin() + static_cast<std::ptrdiff_t>(tickets.size() / 2);
    std::nth_element(tickets.begin(), middle, tickets.end());
    dropped_ +=
        std::erase_if(threads_, [limit = *middle](const auto& entry) { return entry.second.last.ticket < limit; });
}

const Thread* Threads::find(uint32_t thread) const {
    const auto place = threads_.find(thread);
    return place == threads_.end() ? nullptr : &place->second;
}

std::vector<Thread> Threads::threads() const {
    std::vector<Thread> out;
    out.reserve(threads_.size());
    for (const auto& [id, thread] : threads_) out.push_back(thread);
    std::sort(out.begin(), out.end(), [](const Thread& a, const Thread& b) {
        return a.first.ticket != b.first.ticket ? a.first.ticket < b.first.ticket : a.thread < b.thread;
    });
    return out;
}

}  // namespace vramtrace::accounts
