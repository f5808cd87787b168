// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/native_stack.h"

#include "shim/capture/cfi_expression.h"

namespace vramtrace::shim {
namespace {

// The kernel's struct ucontext on x86-64, which rsp points to when a handler returns.
constexpr uintptr_t kContextRegisters = 40;
constexpr uint8_t kContextOrder[kRegisters] = {kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15,   kRdi,
                                               kRsi, kRbp, kRbx, kRdx, kRax, kRcx, kRsp, kReturn};
constexpr uintptr_t kContextRbp = 120, kContextRsp = 160, kContextPc = 168;

// Own frames are stepped over but not kept, so the number of steps needs a bound of its own.
constexpr unsigned kMoreStepsThanFrames = 256;
// Changes of the stack in one walk: handler on its own stack, fibers calling the scheduler's stack, …
constexpr unsigned kMostStacks = 8;

enum class Step { Next, Last, Lost, NeedsAllRegisters };

class Walk {
public:
    Walk(CodeMap& code, trace::DefinitionTable& definitions, StackMemory& memory, NativeStack& stack)
        : code_(code), definitions_(definitions), memory_(&memory), stack_(stack), epoch_(code.epoch()) {}

    // Returns false if it must be done with all registers.
    bool with_two_registers(const StartRegisters& start) {
        uint64_t pc = start.pc, sp = start.rsp, bp = start.rbp;
        for (unsigned step = 0; take_frame(pc, step); ++step) {
            const Step result = step_with_two(pc, sp, bp);
            if (result == Step::NeedsAllRegisters) return false;
            if (finish_if_over(result)) return true;
        }
        return true;
    }

    void with_all_registers(const StartRegisters& start) {
        RegisterSet registers;
        registers.set(kRsp, start.rsp);
        registers.set(kRbp, start.rbp);
        registers.set(kRbx, start.rbx);
        registers.set(kR12, start.r12);
        registers.set(kR13, start.r13);
        registers.set(kR14, start.r14);
        registers.set(kR15, start.r15);
        uint64_t pc = start.pc;
        for (unsigned step = 0; take_frame(pc, step); ++step) {
            if (finish_if_over(step_with_all(pc, registers))) return;
        }
    }

private:
    // Finds the row of pc and keeps its frame. False: the walk is over.
    [[gnu::always_inline]] bool take_frame(uint64_t pc, unsigned step) {
        const CodeMap::Found found = code_.row(pc, epoch_, definitions_, row_);
        if (found != CodeMap::Found::Row) [[unlikely]] {
            if (found == CodeMap::Found::NoRoom) stack_.loss = trace::Loss::DefinitionFull;
            if (found == CodeMap::Found::Failed) stack_.loss = trace::Loss::StackFailed;
            stack_.flags |= trace::kStackIncomplete;
            return false;
        }
        if (row_.rule & Row::kGenerated) [[unlikely]]
            code_.met_generated_code();
        if (step == 0 || row_.own()) {
            if (step < stack_.depth + kMoreStepsThanFrames) return true;
            stack_.flags |= trace::kStackIncomplete;
            return false;
        }
        if (stack_.count == stack_.depth) {
            stack_.flags |= trace::kStackTruncated;
            return false;
        }
        stack_.frames[stack_.count++] = row_.frame;
        return true;
    }

    bool finish_if_over(Step step) {
        if (step == Step::Next) [[likely]]
            return false;
        if (step == Step::Lost) stack_.flags |= trace::kStackIncomplete;
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

    // A CFA that comes from rsp can only be above it on the same stack; others may lead to another stack.
    [[gnu::always_inline]] bool accept_cfa(uint64_t cfa, uint64_t sp, bool from_rsp) {
        if (cfa - sp < (64UL << 20) && cfa != sp) [[likely]] {
            if (memory_->can_load(cfa - 8)) [[likely]]
                return true;
        }
        return !from_rsp && change_stack(cfa - 8);
    }

    [[gnu::always_inline]] Step step_with_two(uint64_t& pc, uint64_t& sp, uint64_t& bp) {
        const RowKind kind = row_.kind();
        if (kind > RowKind::Stored) [[unlikely]] {
            if (kind == RowKind::Signal) return leave_signal(pc, sp, bp);
            if (kind == RowKind::LastFrame) return Step::Last;
            return kind == RowKind::Slow ? Step::NeedsAllRegisters : Step::Lost;
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
        uint64_t return_address;
        if (!memory_->load(cfa - 8, return_address)) [[unlikely]]
            return Step::Lost;
        const uint8_t save = row_.save(0);
        if (save != 0) {
            if (save == Row::kSaveUnknown) {
                bp = 0;  // no frame can hang on it: page 0 is never readable
            } else {
                const uint64_t slot =
                    save < 128 ? cfa - 8ULL * save : bp + 8 * (static_cast<uint64_t>(save) - Row::kBaseZero);
                if (!memory_->load(slot, bp)) [[unlikely]]
                    return Step::Lost;
            }
        }
        sp = cfa;
        if (return_address == 0) return Step::Last;
        pc = return_address - 1;
        return Step::Next;
    }

    Step leave_signal(uint64_t& pc, uint64_t& sp, uint64_t& bp) {
        const uint64_t context = sp;
        if (!memory_->load(context + kContextPc, pc) || !memory_->load(context + kContextRbp, bp) ||
            !memory_->load(context + kContextRsp, sp)) {
            return Step::Lost;
        }
        return follow_interrupted(pc, sp);
    }

    Step follow_interrupted(uint64_t pc, uint64_t sp) {
        if (!memory_->contains(sp) && !change_stack(sp & ~7ULL)) return Step::Lost;
        return pc == 0 ? Step::Lost : Step::Next;
    }

    Step step_with_all(uint64_t& pc, RegisterSet& registers) {
        const uint64_t sp = registers.value[kRsp];
        switch (row_.kind()) {
            case RowKind::LastFrame:
                return Step::Last;
            case RowKind::Unknown:
                return Step::Lost;
            case RowKind::Slow:
                return step_slow(pc, registers);
            case RowKind::Signal: {
                RegisterSet interrupted;
                for (unsigned i = 0; i < kRegisters; ++i) {
                    uint64_t value;
                    if (!memory_->load(sp + kContextRegisters + 8 * i, value)) return Step::Lost;
                    interrupted.set(kContextOrder[i], value);
                }
                registers = interrupted;
                pc = registers.value[kReturn];
                registers.drop(kReturn);
                return follow_interrupted(pc, registers.value[kRsp]);
            }
            default:
                break;
        }
        const unsigned reg = row_.cfa_register();
        if (!registers.has(reg)) return Step::Lost;
        uint64_t cfa = registers.value[reg] + static_cast<uint64_t>(row_.offset());
        if (row_.kind() == RowKind::Stored) {
            if (!memory_->load(registers.value[reg] + static_cast<uint64_t>(row_.stored_at()), cfa)) return Step::Lost;
            cfa += static_cast<uint64_t>(row_.stored_plus());
        }
        if (!accept_cfa(cfa, sp, reg == kRsp && row_.kind() == RowKind::Offset)) return Step::Lost;
        uint64_t return_address;
        if (!memory_->load(cfa - 8, return_address)) return Step::Lost;
        RegisterSet caller;
        for (unsigned i = 0; i < 6; ++i) {
            const uint8_t save = row_.save(i), which = FrameRules::register_at(i);
            if (save == Row::kSaveUnknown || (save >= 128 && !registers.has(kRbp))) continue;
            uint64_t value = registers.value[which];
            if (save == 0 && !registers.has(which)) continue;
            if (save != 0) {
                const uint64_t slot = save < 128
                                          ? cfa - 8ULL * save
                                          : registers.value[kRbp] + 8 * (static_cast<uint64_t>(save) - Row::kBaseZero);
                if (!memory_->load(slot, value)) return Step::Lost;
            }
            caller.set(which, value);
        }
        caller.set(kRsp, cfa);
        return enter_caller(pc, registers, caller, return_address);
    }

    Step enter_caller(uint64_t& pc, RegisterSet& registers, const RegisterSet& caller, uint64_t return_address) {
        registers = caller;
        if (return_address == 0) return Step::Last;
        pc = return_address - 1;
        return Step::Next;
    }

    Step step_slow(uint64_t& pc, RegisterSet& registers) {
        FrameRules rules;
        if (!code_.rules(pc, rules)) return Step::Lost;
        registers.set(kReturn, pc);
        uint64_t cfa = 0;
        if (rules.cfa_is_expression) {
            if (!evaluate(rules.cfa_expression, registers, *memory_, nullptr, cfa)) return Step::Lost;
        } else {
            if (!registers.has(rules.cfa_register)) return Step::Lost;
            cfa = registers.value[rules.cfa_register] + static_cast<uint64_t>(rules.cfa_offset);
        }
        if (!accept_cfa(cfa, registers.value[kRsp], false)) return Step::Lost;
        RegisterSet caller;
        caller.set(kRsp, cfa);
        for (unsigned i = 0; i < FrameRules::kTracked; ++i) {
            const uint8_t which = FrameRules::register_at(i);
            const RegisterRule& rule = rules.rules[i];
            if (rule.kind == RegisterRule::Undefined) continue;
            if (rule.kind == RegisterRule::SameValue) {
                if (which != kRsp && which != kReturn && registers.has(which))
                    caller.set(which, registers.value[which]);
                continue;
            }
            uint64_t value;
            if (!apply(rule, cfa, registers, value)) return Step::Lost;
            caller.set(which, value);
        }
        if (!caller.has(kReturn)) return Step::Lost;
        const uint64_t return_address = caller.value[kReturn];
        caller.drop(kReturn);
        if (caller.value[kRsp] != cfa && !memory_->contains(caller.value[kRsp]) && !change_stack(caller.value[kRsp])) {
            return Step::Lost;
        }
        return enter_caller(pc, registers, caller, return_address);
    }

    bool apply(const RegisterRule& rule, uint64_t cfa, const RegisterSet& registers, uint64_t& value) {
        const Expression expression{rule.expression, rule.bytes};
        switch (rule.kind) {
            case RegisterRule::AtCfa:
                return memory_->load(cfa + static_cast<uint64_t>(rule.offset), value);
            case RegisterRule::CfaPlus:
                value = cfa + static_cast<uint64_t>(rule.offset);
                return true;
            case RegisterRule::InRegister:
                value = registers.value[static_cast<uint64_t>(rule.offset) % kRegisters];
                return registers.has(static_cast<unsigned>(rule.offset));
            case RegisterRule::AtExpression: {
                uint64_t address;
                return evaluate(expression, registers, *memory_, &cfa, address) && memory_->load(address, value);
            }
            case RegisterRule::IsExpression:
                return evaluate(expression, registers, *memory_, &cfa, value);
            default:
                return false;
        }
    }

    CodeMap& code_;
    trace::DefinitionTable& definitions_;
    StackMemory* memory_;
    NativeStack& stack_;
    const uint64_t epoch_;
    Row row_;
    StackMemory elsewhere_{};
    unsigned stacks_ = 0;
};

}  // namespace

void walk_native_stack(CodeMap& code, trace::DefinitionTable& definitions, const StartRegisters& start,
                       StackMemory& memory, NativeStack& stack) {
    stack.count = 0;
    stack.flags = 0;
    stack.loss = trace::Loss::Count;
    if (!memory.begin(start.rsp)) {
        stack.loss = trace::Loss::StackFailed;
        return;
    }
    if (Walk(code, definitions, memory, stack).with_two_registers(start)) return;
    stack.count = 0;
    stack.flags = 0;
    Walk(code, definitions, memory, stack).with_all_registers(start);
}

}  // namespace vramtrace::shim
