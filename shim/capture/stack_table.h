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

// Hash of a stack: sum of frame · K^i, i counted from the innermost frame, mixed at the end. A sum, so that the frames
// outside of some point contribute K^n times what they contribute on their own (unwind_memo.h uses that), and so that a
// processor can work on many frames at once.
class StackHash {
public:
    static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ULL;

    StackHash() = default;
    explicit StackHash(uint64_t sum) : sum_(sum) {}

    void add(trace::Frame frame) {
        sum_ += frame * power_;
        power_ *= kFactor;
    }
    uint64_t finished(size_t count) const {
        uint64_t hash = sum_ + count;
        hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93ULL;
        return hash ^ (hash >> 32);
    }

private:
    uint64_t sum_ = 0;
    uint64_t power_ = 1;
};

inline uint64_t hash_frames(const trace::Frame* frames, size_t count) {
    StackHash hash;
    for (size_t i = 0; i < count; ++i) hash.add(frames[i]);
    return hash.finished(count);
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
