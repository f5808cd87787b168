// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/full_walk.h"

#include "shim/capture/cfi_expression.h"
#include "shim/capture/walk_state.h"

namespace vramtrace::shim {
namespace {

// Where the kernel's struct ucontext, which rsp points to when a handler returns, has its registers.
constexpr uintptr_t kContextRegisters = 40;
constexpr uint8_t kContextOrder[kRegisters] = {kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15,   kRdi,
                                               kRsi, kRbp, kRbx, kRdx, kRax, kRcx, kRsp, kReturn};

class FullWalk : public WalkState {
public:
    using WalkState::WalkState;

    void run(const StartRegisters& start) {
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
            const Step result = step_with_all(pc, registers);
            if (result == Step::Next) continue;
            if (result != Step::Last) flags_ |= trace::kStackIncomplete;
            return;
        }
    }

private:
    Step step_with_all(uint64_t& pc, RegisterSet& registers) {
        const uint64_t sp = registers.value[kRsp];
        switch (row_.kind()) {
            case RowKind::LastFrame:
                return Step::Last;
            case RowKind::Unknown:
                return Step::NoRules;
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
};

}  // namespace

void walk_with_all_registers(CodeMap& code, trace::DefinitionTable& definitions, const StartRegisters& start,
                             StackMemory& memory, trace::Frame* frames, unsigned depth, NativeStack& stack) {
    FullWalk walk(code, definitions, memory, frames, depth);
    walk.run(start);
    stack.frames = frames;
    stack.count = walk.kept();
    stack.flags = static_cast<uint16_t>(walk.flags() | (walk.cut() ? trace::kStackTruncated : 0));
    stack.loss = walk.loss();
    stack.interrupted = walk.interrupted();
    stack.hash = hash_frames(frames, walk.kept());
}

}  // namespace vramtrace::shim
