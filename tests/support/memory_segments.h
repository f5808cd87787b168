// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "trace/ring/ring_reader.h"
#include "trace/ring/ring_writer.h"
#include "trace/ring/segment_chain.h"

namespace vramtrace::test {

// Ring segments in ordinary memory: writers and reader look at the same addresses, so that ThreadSanitizer sees both.
class MemorySegments final : public trace::SegmentSource {
public:
    MemorySegments() { segments_.reserve(trace::SegmentChain::kMaxSegments); }
    ~MemorySegments() override {
        for (void* segment : segments_) std::free(segment);
    }

    trace::SegmentMaker maker() { return {create, release, this}; }

    View segment(uint32_t index) override {
        const std::lock_guard lock(mutex_);
        if (index >= segments_.size() || segments_[index] == nullptr) return {};
        return view_of(segments_[index]);
    }
    void finished(uint32_t) override { ++finished_; }

    unsigned finished_count() const { return finished_; }
    unsigned released_count() const { return released_; }
    size_t count() {
        const std::lock_guard lock(mutex_);
        return segments_.size();
    }
    void refuse_more(size_t limit) { limit_ = limit; }
    // What an earlier collector has drained and removed.
    void forget(uint32_t index) {
        const std::lock_guard lock(mutex_);
        std::free(segments_[index]);
        segments_[index] = nullptr;
    }

private:
    static View view_of(void* segment) {
        auto* header = static_cast<trace::RingHeader*>(segment);
        auto* slots = reinterpret_cast<trace::Slot*>(static_cast<char*>(segment) + trace::kRingHeaderBytes);
        return {header, slots, header->slot_count};
    }
    static trace::RingHeader* create(void* context, uint32_t index, uint32_t slot_count) {
        auto& self = *static_cast<MemorySegments*>(context);
        const std::lock_guard lock(self.mutex_);
        if (index >= self.limit_) return nullptr;
        const size_t bytes = trace::kRingHeaderBytes + size_t{slot_count} * sizeof(trace::Slot);
        void* segment = std::aligned_alloc(4096, bytes);
        std::memset(segment, 0, bytes);
        auto* header = static_cast<trace::RingHeader*>(segment);
        header->slot_bytes = sizeof(trace::Slot);
        header->slot_count = slot_count;
        header->segment = index;
        self.segments_.push_back(segment);
        return header;
    }
    static bool release(void* context, trace::RingHeader*) {
        ++static_cast<MemorySegments*>(context)->released_;
        return true;
    }

    std::mutex mutex_;
    std::vector<void*> segments_;
    size_t limit_ = trace::SegmentChain::kMaxSegments;
    std::atomic<unsigned> finished_{0};
    std::atomic<unsigned> released_{0};
};

// An event whose every field follows from (writer, number): a torn one cannot pass is_whole().
inline trace::Event numbered_event(uint32_t writer, uint64_t number, uint64_t time = 1) {
    trace::Event event;
    event.time = time;
    event.address = number;
    event.size = number * 0x9E3779B97F4A7C15U + writer;
    event.object = ~number;
    event.aux = number ^ 0x5555555555555555U;
    event.stack = static_cast<uint32_t>(number * 2654435761U);
    event.thread = writer;
    event.kind = static_cast<trace::EventKind>(1 + number % 100);
    event.device = static_cast<uint8_t>(number);
    event.context = static_cast<uint16_t>(number >> 3);
    event.api = static_cast<uint8_t>(number >> 5);
    event.label = static_cast<uint8_t>(number >> 7);
    event.result = static_cast<uint16_t>(number * 31);
    return event;
}

inline bool is_whole(const trace::Event& event) {
    trace::Event expected = numbered_event(event.thread, event.address, event.time);
    expected.sequence = event.sequence;
    return std::memcmp(&expected, &event, sizeof event) == 0;
}

constexpr uint32_t kSlots = 4096;
constexpr uint64_t kSegmentBytes = uint64_t{kSlots} * sizeof(trace::Event);

// A chain of at most `segments` segments in memory.
struct Chain {
    explicit Chain(uint64_t segments) : chain(std::make_unique<trace::SegmentChain>()) {
        std::memset(static_cast<void*>(chain.get()), 0, sizeof *chain);
        chain->start(memory.maker(), segments * kSegmentBytes, kSlots);
    }
    trace::RingHeader& first() { return *chain->first(); }
    trace::Slot& slot(uint64_t ticket) { return memory.segment(0).slots[ticket % kSlots]; }

    MemorySegments memory;
    std::unique_ptr<trace::SegmentChain> chain;
};

inline uint64_t lost(const trace::RingHeader& first, trace::Loss reason) {
    uint64_t losses[trace::kLossCounters];
    trace::read_losses(first, 0, losses);
    return losses[static_cast<size_t>(reason)];
}

}  // namespace vramtrace::test
