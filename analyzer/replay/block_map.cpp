// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/block_map.h"

namespace vramtrace::replay {

void BlockMap::erase(const Allocation* block) {
    const auto place = blocks_.find(block->address);
    if (place != blocks_.end() && place->second == block) blocks_.erase(place);
}

Split BlockMap::split_in(uint64_t begin, uint64_t end) const {
    Split split;
    uint64_t at = begin;
    bool any = false;
    overlapping(begin, end - begin, [&](const Allocation& block) {
        any = true;
        if (block.address > at) {
            split.bytes = static_cast<int64_t>(static_cast<uint64_t>(split.bytes) + (block.address - at));
            ++split.pieces;
        }
        at = std::max(at, bounded_end(block.address, block.bytes));
    });
    if (!any) return {};
    if (at < end) {
        split.bytes = static_cast<int64_t>(static_cast<uint64_t>(split.bytes) + (end - at));
        ++split.pieces;
    }
    return split;
}

Split BlockMap::split_by(const Allocation& block, uint64_t begin, uint64_t end) const {
    const uint64_t from = std::clamp(block.address, begin, end);
    const uint64_t to = std::clamp(bounded_end(block.address, block.bytes), from, end);
    // The free piece that there is without the block.
    uint64_t low = begin;
    uint64_t high = end;
    bool others = false;
    auto next = blocks_.lower_bound(block.address);
    if (next != blocks_.begin()) {
        const Allocation& before = *std::prev(next)->second;
        if (before.address >= begin) {
            others = true;
            low = std::min(bounded_end(before.address, before.bytes), from);
        }
    }
    if (next != blocks_.end() && next->first == block.address) ++next;
    if (next != blocks_.end() && next->first < end) {
        others = true;
        high = std::max(next->first, to);
    }
    Split change;
    // Unsigned until the end: addresses of a damaged trace lie anywhere.
    uint64_t bytes = (from - low) + (high - to);
    change.pieces = (from > low ? 1 : 0) + (high > to ? 1 : 0);
    if (others && high > low) {
        bytes -= high - low;
        change.pieces -= 1;
    }
    change.bytes = static_cast<int64_t>(bytes);
    return change;
}

}  // namespace vramtrace::replay
