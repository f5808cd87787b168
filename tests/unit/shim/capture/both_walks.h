// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>

#include "tests/unit/shim/capture/memory_definitions.h"
#include "tests/unit/shim/capture/oracle.h"

// One stack, walked by us and by libunwind from the same function: all but the frame of that function must be equal.
namespace vramtrace::test {

struct BothWalks {
    Addresses ours, theirs;
    uint16_t flags = 0;
    trace::Loss loss = trace::Loss::Count;

    bool equal() const {
        return ours.size() > 1 && ours.size() == theirs.size() &&
               std::equal(ours.list + 1, ours.list + ours.size(), theirs.list + 1);
    }
    std::string difference() const {
        std::string text = "flags " + std::to_string(flags) + " loss " + std::to_string(static_cast<int>(loss)) + "\n";
        for (size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
            char line[80];
            snprintf(line, sizeof(line), "%3zu %16zx %16zx%s\n", i, i < ours.size() ? ours[i] : 0,
                     i < theirs.size() ? theirs[i] : 0,
                     i > 0 && (i >= ours.size() || i >= theirs.size() || ours[i] != theirs[i]) ? "  <" : "");
            text += line;
        }
        return text;
    }
};

inline MemoryDefinitions*& current_definitions() {
    static MemoryDefinitions* definitions;
    return definitions;
}

[[gnu::noinline]] inline void walk_both(BothWalks& walks, bool flush = true, unsigned depth = 1024) {
    const shim::CapturedStack captured = shim::capture_stack(current_definitions()->table(), depth);
    libunwind_addresses(walks.theirs, flush);
    walks.loss = captured.loss;
    walks.ours.count = 0;
    walks.flags = 0;
    if (captured.id == 0) return;
    current_definitions()->addresses(captured.id, walks.ours, walks.flags);
}

// Definitions for one test case.
struct WithDefinitions {
    MemoryDefinitions definitions;
    WithDefinitions() { current_definitions() = &definitions; }
    ~WithDefinitions() { current_definitions() = nullptr; }
};

}  // namespace vramtrace::test
