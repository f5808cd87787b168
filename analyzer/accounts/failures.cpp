// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/failures.h"

#include <algorithm>

#include "analyzer/replay/replay.h"

namespace vramtrace::accounts {
namespace {

constexpr uint16_t kOutOfMemory = 2;              // CUDA_ERROR_OUT_OF_MEMORY
constexpr uint64_t kSampleReach = 1'000'000'000;  // ns: a sample taken later than this says nothing about a failure

bool holds_blocks(Kind kind) {
    return kind == Kind::DeviceMemory || kind == Kind::ManagedMemory || kind == Kind::Physical;
}

}  // namespace

void Failures::on_failed(const trace::Event& event, SiteId site) {
    Failure failure;
    failure.moment = {event.sequence, event.time};
    failure.site = site;
    failure.thread = event.thread;
    failure.device = event.device;
    if (event.kind == trace::EventKind::FrameworkOutOfMemory) {
        ++framework_;
        failure.framework = FrameworkFailure{failure.moment, site, event.device, event.size, event.object, event.aux};
        if (join(*failure.framework, event.thread)) return;
        sites_.failed(site);
        failure.framework_only = true;
        failure.result = kOutOfMemory;
        failure.bytes = event.size;
        set_state(failure);
        return add(failure, {total_, site, Kind::Block, event.label, false, event.size, false});
    }
    if (const Thread* thread = threads_.find(event.thread); thread != nullptr && event.device == trace::kNoDevice) {
        failure.device = thread->device;
    }
    failure.result = event.result;
    failure.runtime_only = event.kind == trace::EventKind::RuntimeFailed;
    failure.bytes = event.size;
    set_state(failure);
    const Kind kind = failure.runtime_only ? Kind::DeviceMemory
                                           : replay::kind_made_by(static_cast<trace::EventKind>(event.aux & 0xff));
    const bool for_block = !failure.runtime_only && event.result == kOutOfMemory && holds_blocks(kind);
    add(failure, {total_, site, kind, event.label, failure.runtime_only, event.size, for_block});
}

// The state at this instant.
void Failures::set_state(Failure& failure) const {
    failure.live_device = peak_.live(failure.device, Quantity::Device).bytes;
    failure.live_managed = peak_.live(failure.device, Quantity::Managed).bytes;
    failure.live_host = peak_.live(trace::kNoDevice, Quantity::HostPinned).bytes;
    if (const MemorySample* sample = samples_.last(failure.device)) {
        failure.free_bytes = sample->free_bytes;
        failure.total_bytes = sample->total_bytes;
        failure.sample = sample->moment;
    }
}

void Failures::add(const Failure& failure, const Waiting& waiting) {
    ++total_;
    if (first_.size() < kFirstFailures) {
        first_.push_back(failure);
    } else {
        if (last_.size() == kLastFailures) last_.pop_front();
        last_.push_back(failure);
    }
    if (waiting_.size() >= kWaitingThreads && waiting_.count(failure.thread) == 0) return;
    std::deque<Waiting>& of_thread = waiting_[failure.thread];
    if (of_thread.size() == kWaitingPerThread) of_thread.pop_front();
    of_thread.push_back(waiting);
}

// Finds the refused driver call that a framework's out-of-memory is the upper layer of; the same call refused before it
// were earlier attempts at the same request.
bool Failures::join(const FrameworkFailure& framework, uint32_t thread) {
    const auto place = waiting_.find(thread);
    if (place == waiting_.end()) return false;
    std::deque<Waiting>& waiting = place->second;
    Waiting* found = nullptr;
    for (auto one = waiting.rbegin(); one != waiting.rend(); ++one) {
        if (!one->for_block) continue;
        if (found == nullptr) {
            // A segment is never smaller than the block it is for; physical memory is asked for in pieces.
            if (one->kind != Kind::Physical && one->bytes != 0 && one->bytes < framework.bytes) continue;
            found = &*one;
            if (Failure* failure = kept(one->number)) failure->framework = framework;
        } else if (one->kind == found->kind && one->bytes == found->bytes) {
            if (Failure* failure = kept(one->number)) failure->earlier_attempt = true;
        }
    }
    for (Waiting& one : waiting) one.for_block = false;
    return found != nullptr;
}

void Failures::on_allocate(const Allocation& allocation) {
    if (waiting_.empty()) return;
    const auto place = waiting_.find(allocation.thread);
    if (place == waiting_.end()) return;
    if (replay::is_block(allocation.kind)) {
        for (Waiting& waiting : place->second) waiting.for_block = false;
    }
    std::erase_if(place->second, [&](const Waiting& waiting) {
        if (waiting.bytes != allocation.bytes) return false;
        // cuMemCreate's failure does not tell host from device.
        const Kind kind = allocation.kind == Kind::PhysicalHost ? Kind::Physical : allocation.kind;
        if (waiting.runtime_only ? waiting.bytes == 0 || waiting.label != allocation.label : waiting.kind != kind)
            return false;
        ++recovered_;
        sites_.recovered(waiting.site);
        if (Failure* failure = kept(waiting.number)) failure->recovered = allocation.birth;
        return true;
    });
    if (place->second.empty()) waiting_.erase(place);
}

// The shim samples free memory at failures, just after them: that sample is nearer than the one before.
void Failures::on_event(const trace::Event& event) {
    if (event.kind != trace::EventKind::MemoryInfo || total_ == 0) return;
    const auto improve = [&event](Failure& failure) {
        if (failure.device != event.device || event.time < failure.moment.time) return;
        const uint64_t distance = event.time - failure.moment.time;
        if (distance > kSampleReach || failure.sample.ticket > failure.moment.ticket) return;
        if (failure.free_bytes && failure.moment.time - std::min(failure.sample.time, failure.moment.time) <= distance)
            return;
        failure.free_bytes = event.size;
        failure.total_bytes = event.aux;
        failure.sample = {event.sequence, event.time};
    };
    for (auto failure = last_.rbegin(); failure != last_.rend(); ++failure) improve(*failure);
    if (last_.size() < kLastFailures) {
        for (auto failure = first_.rbegin(); failure != first_.rend(); ++failure) improve(*failure);
    }
}

Failure* Failures::kept(uint64_t number) {
    if (number < first_.size()) return &first_[number];
    const uint64_t oldest = total_ - last_.size();
    return number >= oldest ? &last_[number - oldest] : nullptr;
}

std::vector<Failure> Failures::failures() const {
    std::vector<Failure> out(first_);
    out.insert(out.end(), last_.begin(), last_.end());
    return out;
}

}  // namespace vramtrace::accounts
