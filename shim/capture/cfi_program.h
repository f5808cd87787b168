// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/capture/cfi_reader.h"

// The rules that undo a frame, and the instructions that build them (DW_CFA_*, DWARF 5, section 6.4.2).
namespace vramtrace::shim {

// DWARF numbers of the x86-64 registers that outlive a call, and of the others that can hold a frame's address.
enum Register : uint8_t {
    kRax = 0,
    kRdx = 1,
    kRcx = 2,
    kRbx = 3,
    kRsi = 4,
    kRdi = 5,
    kRbp = 6,
    kRsp = 7,
    kR8 = 8,
    kR9 = 9,
    kR10 = 10,
    kR11 = 11,
    kR12 = 12,
    kR13 = 13,
    kR14 = 14,
    kR15 = 15,
    kReturn = 16,
};
constexpr unsigned kRegisters = 17;

struct Expression {
    uintptr_t address = 0;
    uint32_t bytes = 0;
};

struct RegisterRule {
    enum Kind : uint8_t {
        SameValue = 0,
        Undefined,
        AtCfa,         // saved at CFA + offset
        CfaPlus,       // value is CFA + offset
        InRegister,    // value is in register `offset`
        AtExpression,  // saved where the expression says (the CFA is pushed first)
        IsExpression,
    };
    Kind kind = SameValue;
    uint32_t bytes = 0;  // of the expression
    union {
        int64_t offset = 0;
        uintptr_t expression;
    };
};

struct FrameRules {
    bool cfa_is_expression = false;
    uint8_t cfa_register = 0;
    bool signal_frame = false;  // the frame below was interrupted, not calling
    int64_t cfa_offset = 0;
    uintptr_t function_start = 0;
    Expression cfa_expression;
    // Only registers that a callee must keep, and the return address, can have rules that matter to us; those of the
    // others exist in signal frames alone, which are read from the kernel's own structure.
    static constexpr unsigned kTracked = 8;
    RegisterRule rules[kTracked];

    // Index into `rules`, or kTracked.
    static constexpr unsigned index_of(uint64_t reg) {
        switch (reg) {
            case kRbp:
                return 0;
            case kRbx:
                return 1;
            case kR12:
                return 2;
            case kR13:
                return 3;
            case kR14:
                return 4;
            case kR15:
                return 5;
            case kReturn:
                return 6;
            case kRsp:
                return 7;
            default:
                return kTracked;
        }
    }
    static constexpr uint8_t register_at(unsigned index) {
        constexpr uint8_t order[kTracked] = {kRbp, kRbx, kR12, kR13, kR14, kR15, kReturn, kRsp};
        return order[index];
    }
};

// What the instructions of one function share (its CIE).
struct ProgramFacts {
    uint64_t code_alignment = 1;
    int64_t data_alignment = 1;
    uint8_t pointer_encoding = 0;  // DW_EH_PE_*
};

// Runs instructions that begin at `location` until that passes `pc`; `initial` is what DW_CFA_restore goes back to.
// False: an instruction that we do not know, or nonsense.
bool run_cfi_program(const ProgramFacts& facts, CfiReader instructions, uintptr_t location, uintptr_t pc,
                     const FrameRules& initial, FrameRules& rules);

}  // namespace vramtrace::shim
