// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "analyzer/replay/blocks.h"
#include "trace/event.h"

// WHAT A FRAMEWORK'S ALLOCATOR DID ON ONE DEVICE, in the terms and the shape of torch.cuda.memory_stats(): docs/formulas.md
// has each rule. Exact as far as the events are.
namespace vramtrace::accounts {

// As PyTorch's "Stat": the peaks of bytes and of pieces are each their own.
struct Gauge {
    uint64_t current = 0, peak = 0;
    uint64_t gained = 0, lost = 0;  // "total allocated", "total freed"

    // `taken_back`: a loss that did not happen after all.
    void change(int64_t by, bool taken_back = false) {
        if (by >= 0 && taken_back) {
            lost -= std::min(lost, static_cast<uint64_t>(by));
            current += static_cast<uint64_t>(by);
        } else if (by >= 0) {
            gained += static_cast<uint64_t>(by);
            current += static_cast<uint64_t>(by);
            if (current > peak) peak = current;
        } else {
            // A damaged trace may take more than there is.
            const uint64_t fewer = std::min(current, -static_cast<uint64_t>(by));
            lost += fewer;
            current -= fewer;
        }
    }
    friend bool operator==(const Gauge&, const Gauge&) = default;
};

struct BlockMetric {
    Gauge bytes, count;
    friend bool operator==(const BlockMetric&, const BlockMetric&) = default;
};

struct BlockPool {
    BlockMetric
        allocated;  // blocks. "Active" is the same here: blocks that wait for a stream after their free are not told
    BlockMetric reserved;  // segments; what is mapped in reservations counts in bytes, not in pieces
    BlockMetric split;     // "inactive split": free pieces of segments with a live block; none of reservations
};

struct BlockTable {
    uint8_t device = trace::kNoDevice;  // kNoDevice: a framework's pools of pinned host memory
    BlockPool all, small, large;
    uint64_t out_of_memory = 0;  // FrameworkOutOfMemory
    uint64_t retries = 0;  // refused driver calls that the allocator answered by freeing its cache and asking again
    uint64_t offloaded_segment_bytes = 0;  // unmapped under live blocks now, in reserved.bytes.current
    replay::BlockState state;              // offloaded, orphaned, what the framework says itself
};

}  // namespace vramtrace::accounts
