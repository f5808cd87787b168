// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/capture/stack_memory.h"
#include "shim/capture/stack_table.h"
#include "trace/definition.h"

// WHAT THE LAST WALK SAW, so that the next one on the same stack need not look up again what has not changed.
//
//   steps:   ···· free ···· | first_ = innermost ………………………… outermost |      frames and sums alike, without own frames
//                                       ▲ same pc, rsp, rbp: join ──▶ check the words of step after step outwards
//
// THE RULE, and why it is sound. A walk over plain rows is a function of: pc, rsp and rbp where it starts; the rows (one
// epoch); and the words that it reads, which are each frame's return address and saved rbp. If the new walk gets to the
// pc, rsp AND rbp that step m began with, and the words that step m read still have their values, then it gets to the
// state of step m + 1, and so on: to the outermost frame, or to the first step whose words differ, where it walks on.
// Return addresses alone do not do: they stay in dead frames when the frame that is live there now hangs on another rbp
// (3,866 wrong stacks of 4 million, measured). Checking goes outwards only, in the order of the walk, so that it reads
// nothing that the walk would not read: what was a stack last time may be unmapped now.
// Steps whose CFA was read from memory, signal frames, slow rows, generated code and changes of the stack are walked.
namespace vramtrace::shim {

// One step of a walk: the state that it began with and the words that it read.
struct MemoStep {
    uint64_t pc, sp, bp;
    const uint64_t* return_slot;
    uint64_t return_value;
    const uint64_t* bp_slot;  // of a frame that saves no rbp: return_slot again
    uint64_t bp_value;
    uint32_t kept;   // kept frames from this step outwards; while walking: 1 if this step's frame is kept
    uint32_t plain;  // false: not to be joined at or over
};
static_assert(sizeof(MemoStep) == 64);

// Usable when zero-filled. Belongs to whoever holds the slot that it lies in.
class UnwindMemo {
public:
    static constexpr size_t kSteps = 512;

    // Makes ready for a walk.
    void begin(uint64_t epoch) { cursor_ = valid_ && epoch_ == epoch ? first_ : kSteps; }

    // To be asked at each step, in walking order. True: step cursor() began in this state, too.
    [[gnu::always_inline]] bool meets(uint64_t pc, uint64_t sp, uint64_t bp) {
        while (cursor_ < kSteps && steps_[cursor_].sp < sp) ++cursor_;
        if (cursor_ == kSteps) return false;
        const MemoStep& step = steps_[cursor_];
        return step.sp == sp && step.pc == pc && step.bp == bp;
    }
    // After meets(): the first step from cursor() outwards that must be walked; kSteps: all is as it was.
    size_t check(const StackMemory& memory) const;

    size_t cursor() const { return cursor_; }
    void move_cursor(size_t step) { cursor_ = step; }
    const MemoStep& step(size_t index) const { return steps_[index]; }
    // Kept frames from step `index` outwards, and the first of them.
    uint32_t kept_from(size_t index) const { return index == kSteps ? 0 : steps_[index].kept; }
    const trace::Frame* frames_from(size_t index) const { return frames_ + (kSteps - kept_from(index)); }

    // After meets() and check() said that all is as it was: the innermost step of all was met.
    bool met_whole() const { return cursor_ == first_; }

    // The walk is over: `fresh` are its new steps, innermost first, `fresh_frames` their kept frames. With `joined` the
    // steps from cursor() on are kept; without, `flags` and `ended` say how the walk ended (ended
    // is false if it was cut off by a limit). False: cannot be remembered; the memo is empty then.
    bool remember(const MemoStep* fresh, size_t fresh_count, const trace::Frame* fresh_frames, size_t fresh_kept,
                  bool joined, uint16_t flags, bool ended, uint64_t epoch);
    void forget() { valid_ = false; }

    // The stack that is remembered now.
    const trace::Frame* frames() const { return frames_from(first_); }
    size_t kept() const { return kept_from(first_); }
    uint16_t flags() const { return flags_; }
    bool ended() const { return ended_; }
    // Hash of the first `count` frames, 0 < count ≤ kept().
    uint64_t hash(size_t count) const;

    // The id that the whole stack got when it was captured with this depth limit; it holds until the next remember().
    trace::DefinitionId id_for(unsigned depth) const { return depth == id_depth_ ? id_ : 0; }
    void set_id(trace::DefinitionId id, unsigned depth) {
        id_ = id;
        id_depth_ = depth;
    }

private:
    bool valid_;
    bool ended_;
    uint16_t flags_;
    trace::DefinitionId id_;
    unsigned id_depth_;
    uint64_t epoch_;
    size_t first_;
    size_t cursor_;  // the innermost step that may still be met
    MemoStep steps_[kSteps];
    trace::Frame frames_[kSteps];
    uint64_t sums_[kSteps + 1];  // of the frames from here outwards: frame + K · next sum; the last one stays 0
};

}  // namespace vramtrace::shim
