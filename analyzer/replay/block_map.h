// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "analyzer/replay/allocation.h"

namespace vramtrace::replay {

inline uint64_t bounded_end(uint64_t address, uint64_t bytes) {
    return bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
}

// Free pieces of a segment that has a live block: what PyTorch calls "inactive split" and "non-releasable".
struct Split {
    int64_t bytes = 0;
    int64_t pieces = 0;
};

// LIVE BLOCKS BY ADDRESS.
class BlockMap {
public:
    void insert(Allocation* block) { blocks_[block->address] = block; }
    void erase(const Allocation* block);

    const std::map<uint64_t, Allocation*>& by_address() const { return blocks_; }

    // The free pieces in [begin, end), if any block lies in it.
    Split split_in(uint64_t begin, uint64_t end) const;
    // How many more there are in [begin, end) with that block than without it; it may or may not be in the map.
    Split split_by(const Allocation& block, uint64_t begin, uint64_t end) const;

    // Every block of which some byte lies in the range. visit(Allocation&) must not change the map.
    template <typename Visit>
    void overlapping(uint64_t address, uint64_t bytes, Visit&& visit) const {
        const uint64_t end = bounded_end(address, bytes);
        auto place = blocks_.lower_bound(address);
        // Blocks do not overlap each other, so only the one before can reach into the range.
        if (place != blocks_.begin()) {
            const auto before = std::prev(place);
            if (bounded_end(before->first, before->second->bytes) > address) place = before;
        }
        for (; place != blocks_.end() && place->first < end; ++place) visit(*place->second);
    }

private:
    std::map<uint64_t, Allocation*> blocks_;
};

}  // namespace vramtrace::replay
