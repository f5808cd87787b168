// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/capture/intern_table.h"
#include "trace/definition.h"

namespace vramtrace::trace {
class DefinitionTable;
}

namespace vramtrace::shim {

// One multiplication a frame; the order of frames counts.
constexpr uint64_t kStackHashFactor = 0x9e3779b97f4a7c15ULL;
inline uint64_t hash_frames(const trace::Frame* frames, size_t count) {
    uint64_t hash = count;
    for (size_t i = 0; i < count; ++i) hash = (hash ^ frames[i] ^ (hash >> 29)) * kStackHashFactor;
    return hash ^ (hash >> 32);
}

// Stack → definition id. A stack is published in the table of definitions before its id is given to anybody.
// Usable when zero-filled.
class StackTable {
public:
    // 0: no room (the table of definitions counts it, or the index is full).
    trace::DefinitionId intern(trace::DefinitionTable& definitions, const trace::Frame* frames, size_t count,
                               uint16_t flags, uint64_t hash);

private:
    InternTable index_;
};

}  // namespace vramtrace::shim
