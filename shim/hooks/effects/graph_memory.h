// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace vramtrace::shim {

// Whether any graph of this process owns memory. Before that, launches say nothing about memory and are not recorded.
inline constinit std::atomic<bool> graph_memory_used{false};

inline void graph_memory_is_used() {
    if (!graph_memory_used.load(std::memory_order_relaxed)) graph_memory_used.store(true, std::memory_order_relaxed);
}
inline bool is_graph_memory_used() {
    return graph_memory_used.load(std::memory_order_relaxed);
}

}  // namespace vramtrace::shim
