// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

// "The n-th most recent that is still in": entries are numbered as they come, any of them may leave, and rank ↔ entry
// is answered in O(log n) by a binary indexed tree over who is still in.
namespace vramtrace::trace {

class RecencyList {
public:
    void reset(size_t capacity) {
        tree_.assign(std::bit_ceil(capacity + 1) + 1, 0);
        next_ = 0;
        count_ = 0;
    }

    uint32_t count() const { return count_; }

    // The new entry's number. At most `capacity` times between resets.
    uint32_t enter() {
        change(next_, 1);
        ++count_;
        return next_++;
    }

    void leave(uint32_t entry) {
        change(entry, -1);
        --count_;
    }

    // How many entries that are still in came after `entry`, which is in itself.
    uint32_t rank(uint32_t entry) const {
        uint32_t up_to = 0;
        for (size_t i = entry + 1; i > 0; i &= i - 1) up_to += static_cast<uint32_t>(tree_[i]);
        return count_ - up_to;
    }

    // The entry of that rank; rank < count().
    uint32_t entry(uint32_t rank) const {
        uint32_t before = count_ - 1 - rank;  // entries still in that came earlier
        size_t at = 0;
        for (size_t step = std::bit_floor(tree_.size() - 1); step > 0; step >>= 1) {
            if (at + step < tree_.size() && static_cast<uint32_t>(tree_[at + step]) <= before) {
                at += step;
                before -= static_cast<uint32_t>(tree_[at]);
            }
        }
        return static_cast<uint32_t>(at);
    }

private:
    void change(uint32_t entry, int32_t by) {
        for (size_t i = entry + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] += by;
    }

    std::vector<int32_t> tree_;  // 1-based
    uint32_t next_ = 0;
    uint32_t count_ = 0;
};

}  // namespace vramtrace::trace
