// SPDX-License-Identifier: Apache-2.0
#include "analyzer/instant/segment_map.h"

#include <algorithm>
#include <vector>

namespace vramtrace::instant {
namespace {

using replay::bounded_end;

// A segment as the blocks and the free pieces that it consists of, in order of address.
std::vector<Block> blocks_in(const replay::BlockMap& map, uint64_t begin, uint64_t end) {
    std::vector<Block> blocks;
    uint64_t at = begin;
    map.overlapping(begin, end - begin, [&](const replay::Allocation& block) {
        if (block.address > at) blocks.push_back({block.address - at, 0, BlockState::Free});
        const uint64_t from = std::max(block.address, at);
        const uint64_t to = std::min(bounded_end(block.address, block.bytes), end);
        if (to > from) blocks.push_back({to - from, to - from, BlockState::Live});
        at = std::max(at, to);
    });
    if (at < end) blocks.push_back({end - at, 0, BlockState::Free});
    return blocks;
}

}  // namespace

SegmentMap map_segments(const replay::Replay& replay, uint8_t device, uint64_t driver_free) {
    const replay::Segments& segments = replay.blocks().segments();
    const replay::BlockMap& map = replay.blocks().map();
    std::vector<std::vector<Block>> small;
    std::vector<std::vector<Block>> large;
    const auto add = [&](uint64_t begin, uint64_t end, bool is_small) {
        if (end > begin) (is_small ? small : large).push_back(blocks_in(map, begin, end));
    };
    for (const auto& [address, memory] : segments.memory()) {
        const bool host = memory->quantity() != replay::Quantity::Device && memory->kind != replay::Kind::ManagedMemory;
        if ((memory->flags & replay::kSegment) == 0 || memory->device != device || host) continue;
        add(address, bounded_end(address, memory->bytes), (memory->flags & replay::kSmallPool) != 0);
    }
    const auto& mappings = replay.virtual_memory().mappings();
    for (const auto& [address, reservation] : segments.reservations()) {
        if (!reservation.claimed || reservation.host || reservation.device != device) continue;
        const uint64_t limit = bounded_end(address, reservation.allocation->bytes);
        uint64_t begin = address;
        uint64_t end = address;
        for (auto piece = mappings.lower_bound(address); piece != mappings.end() && piece->first < limit; ++piece) {
            if (piece->first != end) {
                add(begin, end, reservation.small);
                begin = piece->first;
            }
            end = std::min(bounded_end(piece->first, piece->second.bytes), limit);
        }
        add(begin, end, reservation.small);
    }
    SegmentMap out;
    out.device = device;
    out.small = summarize_segments(small, driver_free);
    out.large = summarize_segments(large, driver_free);
    out.segments = small.size() + large.size();
    small.insert(small.end(), std::make_move_iterator(large.begin()), std::make_move_iterator(large.end()));
    out.all = summarize_segments(small, driver_free);
    return out;
}

}  // namespace vramtrace::instant
