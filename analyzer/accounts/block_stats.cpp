// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/block_stats.h"

#include <algorithm>

namespace vramtrace::accounts {

using trace::EventKind;

namespace {

constexpr uint16_t kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

bool asks_for_segment(EventKind kind) {
    return kind == EventKind::DeviceAlloc || kind == EventKind::ManagedAlloc || kind == EventKind::PhysicalCreate ||
           kind == EventKind::Map;
}

}  // namespace

BlockTable& BlockStats::table(uint8_t device) {
    BlockTable& table = tables_[device];
    table.device = device;
    return table;
}

void BlockStats::on_event(const trace::Event& event) {
    switch (event.kind) {
        case EventKind::CallFailed:
            if (event.result != kOutOfMemory || !asks_for_segment(static_cast<EventKind>(event.aux & 0xff))) return;
            if (refused_.size() < kRefusedThreads) refused_.try_emplace(event.thread);
            return;
        case EventKind::DeviceAlloc:
        case EventKind::ManagedAlloc:
        case EventKind::Map:
            if (!refused_.empty()) got_memory(event);
            return;
        case EventKind::FrameworkOutOfMemory:
            ++table(event.device).out_of_memory;
            if (refused_.erase(event.thread) > 0) ++table(event.device).retries;
            return;
        default:
            return;
    }
}

void BlockStats::got_memory(const trace::Event& event) {
    const auto place = refused_.find(event.thread);
    if (place == refused_.end()) return;
    Refused& refused = place->second;
    const uint64_t end = replay::bounded_end(event.address, event.size);
    if (refused.end != event.address) refused.begin = event.address;  // else: one more piece of the same reservation
    refused.end = end;
}

void BlockStats::on_block(const replay::BlockChange& change) {
    const replay::Allocation& block = *change.block;
    BlockTable& table = this->table(block.counted_device());
    const bool small = (block.flags & replay::kSmallPool) != 0;
    const int64_t sign = change.begins ? 1 : -1;
    for (BlockPool* pool : {&table.all, small ? &table.small : &table.large}) {
        pool->allocated.bytes.change(static_cast<int64_t>(static_cast<uint64_t>(sign) * block.bytes),
                                     change.taken_back);
        pool->allocated.count.change(sign, change.taken_back);
        pool->split.bytes.change(change.split_bytes, change.taken_back);
        pool->split.count.change(change.split_pieces, change.taken_back);
    }
    if (!change.begins || change.taken_back || refused_.empty()) return;
    const auto place = refused_.find(block.thread);
    if (place == refused_.end()) return;
    // A block in memory that was had after the refusal: the allocator's second try. Any other block says that the refused
    // call was not the allocator's.
    if (block.address >= place->second.begin && block.address < place->second.end) ++table.retries;
    refused_.erase(place);
}

void BlockStats::on_segment(const replay::SegmentChange& change) {
    BlockTable& table = this->table(change.host ? trace::kNoDevice : change.device);
    for (BlockPool* pool : {&table.all, change.small ? &table.small : &table.large}) {
        pool->reserved.bytes.change(change.bytes, change.taken_back);
        pool->reserved.count.change(change.segments, change.taken_back);
        pool->split.bytes.change(change.split_bytes, change.taken_back);
        pool->split.count.change(change.split_pieces, change.taken_back);
    }
}

std::vector<BlockTable> BlockStats::tables() const {
    std::vector<BlockTable> out;
    for (const auto& [device, table] : tables_) {
        out.push_back(table);
        if (const auto state = blocks_.states().find(device); state != blocks_.states().end()) {
            out.back().state = state->second;
        }
        if (device != trace::kNoDevice) out.back().offloaded_segment_bytes = blocks_.segments().offloaded(device);
    }
    return out;
}

}  // namespace vramtrace::accounts
