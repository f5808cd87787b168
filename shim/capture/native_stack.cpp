// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/native_stack.h"

#include "shim/capture/full_walk.h"
#include "shim/capture/walk_state.h"

namespace vramtrace::shim {
namespace {

// In the kernel's struct ucontext, which rsp points to when a handler returns.
constexpr uintptr_t kContextRbp = 120, kContextRsp = 160, kContextPc = 168;

class TwoRegisterWalk : public WalkState {
public:
    TwoRegisterWalk(CodeMap& code, trace::DefinitionTable& definitions, StackMemory& memory, WalkSpace& space,
                    unsigned limit)
        : WalkState(code, definitions, memory, space.frames, limit), space_(space) {}

    enum class End { Joined, Over, NeedsAllRegisters };

    template <bool kMemo>
    End run(const StartRegisters& start) {
        uint64_t pc = start.pc, sp = start.rsp, bp = start.rbp;
        for (unsigned step = 0;; ++step) {
            if constexpr (kMemo) {
                if (!changed_stack() && space_.memo.meets(pc, sp, bp) && follow_memo(pc, sp, bp, step))
                    return End::Joined;
            }
            if (!take_frame(pc, step)) return End::Over;
            MemoStep* record = nullptr;
            if constexpr (kMemo) {
                if (steps_ == UnwindMemo::kSteps) [[unlikely]] {
                    recordable_ = false;
                    steps_ = 0;
                }
                record = &space_.steps[steps_++];
                record->pc = pc;
                record->sp = sp;
                record->bp = bp;
                record->kept = kept_this_;
            }
            const Step result = this->step<kMemo>(pc, sp, bp, record);
            if (result == Step::Next) [[likely]]
                continue;
            if (result == Step::NeedsAllRegisters) return End::NeedsAllRegisters;
            if (result != Step::Last) flags_ |= trace::kStackIncomplete;
            if (result == Step::Lost) recordable_ = false;
            return End::Over;
        }
    }

    unsigned steps() const { return steps_; }
    bool recordable() const { return recordable_ && !changed_stack() && !nowhere_ && loss_ == trace::Loss::Count; }

private:
    // The memo's step at its cursor began as we do. True: everything from there on is as it was. Else takes over what is,
    // and goes on from where it is not.
    bool follow_memo(uint64_t& pc, uint64_t& sp, uint64_t& bp, unsigned& step) {
        UnwindMemo& memo = space_.memo;
        const size_t from = memo.cursor(), to = memo.check(*memory_);
        if (to == UnwindMemo::kSteps) return true;
        memo.move_cursor(to + 1);
        const size_t count = to - from;
        const uint32_t kept = memo.kept_from(from) - memo.kept_from(to);
        if (count == 0) return false;
        if (steps_ + count > UnwindMemo::kSteps || kept_ + kept > limit_) return false;
        const trace::Frame* frames = memo.frames_from(from);
        for (uint32_t i = 0; i < kept; ++i) frames_[kept_++] = frames[i];
        for (size_t i = from; i < to; ++i) {
            MemoStep& record = space_.steps[steps_++];
            record = memo.step(i);
            record.kept = memo.kept_from(i) - memo.kept_from(i + 1);
        }
        step += static_cast<unsigned>(count);
        pc = memo.step(to).pc;
        sp = memo.step(to).sp;
        bp = memo.step(to).bp;
        return false;
    }

    template <bool kMemo>
    [[gnu::always_inline]] Step step(uint64_t& pc, uint64_t& sp, uint64_t& bp, MemoStep* record) {
        const RowKind kind = row_.kind();
        if (kind > RowKind::Stored) [[unlikely]] {
            if constexpr (kMemo) read_nothing(record);
            switch (kind) {
                case RowKind::Signal:
                    return leave_signal(pc, sp, bp);
                case RowKind::LastFrame:
                    return Step::Last;
                case RowKind::Slow:
                    return Step::NeedsAllRegisters;
                default:
                    if (row_.generated()) recordable_ = false;
                    return Step::NoRules;
            }
        }
        const unsigned reg = row_.cfa_register();
        if (reg != kRsp && reg != kRbp) [[unlikely]]
            return Step::NeedsAllRegisters;
        const uint64_t base = reg == kRsp ? sp : bp;
        uint64_t cfa;
        if (kind == RowKind::Offset) [[likely]] {
            cfa = base + static_cast<uint64_t>(row_.offset());
        } else {
            if (!memory_->load(base + static_cast<uint64_t>(row_.stored_at()), cfa)) return Step::Lost;
            cfa += static_cast<uint64_t>(row_.stored_plus());
        }
        if (!accept_cfa(cfa, sp, reg == kRsp && kind == RowKind::Offset)) [[unlikely]]
            return Step::Lost;
        const uint64_t return_slot = cfa - 8;
        uint64_t return_address;
        if (!memory_->load(return_slot, return_address)) [[unlikely]]
            return Step::Lost;
        uint64_t bp_slot = return_slot, saved_bp = return_address;
        const uint8_t save = row_.save(0);
        if (save != 0) {
            if (save == Row::kSaveUnknown) {
                bp = 0;  // no frame can hang on it: page 0 is never readable
            } else {
                bp_slot = save < 128 ? cfa - 8ULL * save : bp + 8 * (static_cast<uint64_t>(save) - Row::kBaseZero);
                if (!memory_->load(bp_slot, saved_bp)) [[unlikely]]
                    return Step::Lost;
                bp = saved_bp;
            }
        }
        if constexpr (kMemo) {
            record->return_slot = reinterpret_cast<const uint64_t*>(return_slot);
            record->return_value = return_address;
            record->bp_slot = reinterpret_cast<const uint64_t*>(bp_slot);
            record->bp_value = saved_bp;
            record->plain = kind == RowKind::Offset && bp_slot >= sp && bp_slot <= return_slot && !row_.generated();
        }
        sp = cfa;
        if (return_address == 0) return Step::Last;
        pc = return_address - 1;
        return Step::Next;
    }

    // The step's outcome does not hang on any word, or it ends the run of plain steps. So that all steps can be checked
    // alike it names the words of the step before.
    void read_nothing(MemoStep* record) {
        if (steps_ < 2) {
            recordable_ = false;
            return;
        }
        const MemoStep& inner = record[-1];
        record->return_slot = inner.return_slot;
        record->return_value = inner.return_value;
        record->bp_slot = inner.return_slot;
        record->bp_value = inner.return_value;
        record->plain = row_.kind() != RowKind::Signal;
    }

    Step leave_signal(uint64_t& pc, uint64_t& sp, uint64_t& bp) {
        const uint64_t context = sp;
        if (!memory_->load(context + kContextPc, pc) || !memory_->load(context + kContextRbp, bp) ||
            !memory_->load(context + kContextRsp, sp)) {
            return Step::Lost;
        }
        return follow_interrupted(pc, sp);
    }

    WalkSpace& space_;
    unsigned steps_ = 0;
    bool recordable_ = true;
};

void use_frames(NativeStack& stack, const trace::Frame* frames, size_t kept, unsigned depth, uint16_t flags) {
    stack.frames = frames;
    stack.count = kept < depth ? static_cast<unsigned>(kept) : depth;
    stack.flags = kept > depth ? static_cast<uint16_t>(trace::kStackTruncated) : flags;
}

enum class Outcome { Done, NeedsAllRegisters, NeedsFreshWalk };

Outcome walk_and_remember(CodeMap& code, trace::DefinitionTable& definitions, const StartRegisters& start,
                          StackMemory& memory, WalkSpace& space, unsigned depth, NativeStack& stack) {
    UnwindMemo& memo = space.memo;
    TwoRegisterWalk walk(code, definitions, memory, space, depth + WalkSpace::kMargin);
    memo.begin(walk.epoch());
    const TwoRegisterWalk::End end = walk.run<true>(start);
    if (end == TwoRegisterWalk::End::NeedsAllRegisters) return Outcome::NeedsAllRegisters;
    const bool joined = end == TwoRegisterWalk::End::Joined;
    stack.walked = walk.steps();
    stack.interrupted = walk.interrupted();
    if (joined && walk.steps() == 0 && memo.met_whole()) {
        use_frames(stack, memo.frames(), memo.kept(), depth, memo.flags());
        stack.id = memo.id_for(depth);
        if (stack.id != 0) return Outcome::Done;
    }
    if (walk.recordable() && memo.remember(space.steps, walk.steps(), space.frames, walk.kept(), joined, walk.flags(),
                                           !walk.cut(), walk.epoch())) {
        // Cut off by a limit, and now it is not even as deep as is asked for: there is more to walk at the outer end.
        if (!memo.ended() && memo.kept() <= depth) {
            memo.forget();
            return Outcome::NeedsFreshWalk;
        }
        use_frames(stack, memo.frames(), memo.kept(), depth, memo.flags());
        stack.hash = stack.count == 0 ? 0 : memo.hash(stack.count);
        stack.remembered = true;
        return Outcome::Done;
    }
    if (joined) {
        memo.forget();
        return Outcome::NeedsFreshWalk;
    }
    use_frames(stack, space.frames, walk.kept(), depth, walk.flags());
    stack.hash = hash_frames(stack.frames, stack.count);
    stack.loss = walk.loss();
    return Outcome::Done;
}

}  // namespace

NativeStack walk_native_stack(CodeMap& code, trace::DefinitionTable& definitions, const StartRegisters& start,
                              StackMemory& memory, WalkSpace& space, unsigned depth, UseMemo use_memo) {
    NativeStack stack;
    if (!memory.begin(start.rsp)) {
        stack.loss = trace::Loss::StackFailed;
        return stack;
    }
    if (use_memo == UseMemo::Yes) {
        for (int i = 0; i < 2; ++i) {
            const Outcome outcome = walk_and_remember(code, definitions, start, memory, space, depth, stack);
            if (outcome == Outcome::Done) return stack;
            if (outcome == Outcome::NeedsAllRegisters) break;
        }
    } else {
        TwoRegisterWalk walk(code, definitions, memory, space, depth);
        if (walk.run<false>(start) == TwoRegisterWalk::End::Over) {
            stack.frames = space.frames;
            stack.count = walk.kept();
            stack.flags = static_cast<uint16_t>(walk.flags() | (walk.cut() ? trace::kStackTruncated : 0));
            stack.hash = hash_frames(stack.frames, stack.count);
            stack.loss = walk.loss();
            stack.interrupted = walk.interrupted();
            return stack;
        }
    }
    walk_with_all_registers(code, definitions, start, memory, space.frames, depth, stack);
    return stack;
}

}  // namespace vramtrace::shim
