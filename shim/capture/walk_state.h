// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/capture/native_stack.h"

// What both walks (two registers, all registers) do alike.
namespace vramtrace::shim {

enum class Step : uint8_t {
    Next,
    Last,     // nobody called this one
    NoRules,  // the walk ends too early: nothing is known of this code
    Lost,     // the walk ends too early: what the rules say makes no sense on this stack
    NeedsAllRegisters,
};

class WalkState {
public:
    WalkState(CodeMap& code, trace::DefinitionTable& definitions, StackMemory& memory, trace::Frame* frames,
              unsigned limit)
        : code_(code),
          definitions_(definitions),
          memory_(&memory),
          epoch_(code.epoch()),
          frames_(frames),
          limit_(limit) {}

    uint64_t epoch() const { return epoch_; }
    unsigned kept() const { return kept_; }
    uint16_t flags() const { return flags_; }
    trace::Loss loss() const { return loss_; }
    bool cut() const { return cut_; }  // more frames than the limit
    bool interrupted() const { return interrupted_; }

protected:
    // Own frames are stepped over but not kept, so the number of steps needs a bound of its own.
    static constexpr unsigned kMoreStepsThanFrames = 256;
    // Changes of the stack in one walk: a handler on its own stack, fibers, …
    static constexpr unsigned kMostStacks = 8;

    // Finds the row of pc and keeps its frame, unless it is the first or our own. False: the walk is over.
    [[gnu::always_inline]] bool take_frame(uint64_t pc, unsigned step) {
        const CodeMap::Found found = code_.row(pc, epoch_, definitions_, row_);
        if (found != CodeMap::Found::Row) [[unlikely]]
            return no_row(found);
        if (row_.generated()) [[unlikely]]
            code_.met_generated_code();
        if (step == 0 || row_.own()) {
            kept_this_ = 0;
            if (step < limit_ + kMoreStepsThanFrames) return true;
            flags_ |= trace::kStackIncomplete;
            return false;
        }
        if (kept_ == limit_) [[unlikely]] {
            cut_ = true;
            return false;
        }
        kept_this_ = 1;
        frames_[kept_++] = row_.frame;
        return true;
    }

    // The stack goes on at `address`, outside of the run of pages read so far.
    bool change_stack(uint64_t address) {
        if (++stacks_ > kMostStacks || (address & 7) != 0) return false;
        elsewhere_.forget();
        if (!elsewhere_.begin(address)) return false;
        memory_ = &elsewhere_;
        return true;
    }
    bool changed_stack() const { return stacks_ != 0; }

    // A CFA that comes from rsp can only be above it on the same stack; others may lead to another stack.
    [[gnu::always_inline]] bool accept_cfa(uint64_t cfa, uint64_t sp, bool from_rsp) {
        constexpr uint64_t kLargestFrame = 64UL << 20;
        if (cfa - sp - 1 < kLargestFrame && memory_->can_load(cfa - 8)) [[likely]]
            return true;
        return !from_rsp && change_stack(cfa - 8);
    }

    Step follow_interrupted(uint64_t pc, uint64_t sp) {
        interrupted_ = true;
        if (!memory_->contains(sp) && !change_stack(sp & ~7ULL)) return Step::Lost;
        return pc == 0 ? Step::Lost : Step::Next;
    }

    CodeMap& code_;
    trace::DefinitionTable& definitions_;
    StackMemory* memory_;
    const uint64_t epoch_;
    Row row_;
    trace::Frame* frames_;
    const unsigned limit_;
    unsigned kept_ = 0;
    unsigned kept_this_ = 0;  // 1 if the last step's frame was kept
    uint16_t flags_ = 0;
    trace::Loss loss_ = trace::Loss::Count;
    bool cut_ = false;
    bool interrupted_ = false;  // a signal handler is at work on this stack
    bool nowhere_ = false;      // the walk ended where no code is mapped (now)

private:
    [[gnu::noinline]] bool no_row(CodeMap::Found found) {
        if (found == CodeMap::Found::NoRoom) loss_ = trace::Loss::DefinitionFull;
        if (found == CodeMap::Found::Failed) loss_ = trace::Loss::StackFailed;
        flags_ |= trace::kStackIncomplete;
        nowhere_ = true;
        return false;
    }

    StackMemory elsewhere_{};
    unsigned stacks_ = 0;
};

}  // namespace vramtrace::shim
