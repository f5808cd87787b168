// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/cfi_program.h"

namespace vramtrace::shim {
namespace {

constexpr unsigned kMaxRemembered = 4;

// DW_CFA_* with the operand in bytes of their own.
enum Instruction : uint8_t {
    kCfaNop = 0x00,
    kCfaSetLocation = 0x01,
    kCfaAdvance1 = 0x02,
    kCfaAdvance2 = 0x03,
    kCfaAdvance4 = 0x04,
    kCfaOffsetExtended = 0x05,
    kCfaRestoreExtended = 0x06,
    kCfaUndefined = 0x07,
    kCfaSameValue = 0x08,
    kCfaInRegister = 0x09,
    kCfaRememberState = 0x0a,
    kCfaRestoreState = 0x0b,
    kCfaDefineCfa = 0x0c,
    kCfaDefineCfaRegister = 0x0d,
    kCfaDefineCfaOffset = 0x0e,
    kCfaDefineCfaExpression = 0x0f,
    kCfaAtExpression = 0x10,
    kCfaOffsetExtendedSigned = 0x11,
    kCfaDefineCfaSigned = 0x12,
    kCfaDefineCfaOffsetSigned = 0x13,
    kCfaValueOffset = 0x14,
    kCfaValueOffsetSigned = 0x15,
    kCfaValueExpression = 0x16,
    kCfaGnuArgumentsSize = 0x2e,
    kCfaGnuNegativeOffset = 0x2f,
};

class Program {
public:
    Program(const ProgramFacts& facts, FrameRules& rules) : facts_(facts), rules_(rules) {}

    bool run(CfiReader reader, uintptr_t location, uintptr_t pc, const FrameRules& initial) {
        while (!reader.at_end()) {
            const uint8_t instruction = reader.byte();
            const uint8_t operand = instruction & 0x3f;
            switch (instruction & 0xc0) {
                case 0x40:  // advance_loc
                    location += operand * facts_.code_alignment;
                    if (location > pc) return true;
                    continue;
                case 0x80:
                    at_cfa(operand, static_cast<int64_t>(reader.uleb()));
                    continue;  // offset
                case 0xc0:
                    restore(operand, initial);
                    continue;  // restore
                default:
                    break;
            }
            uint64_t reg;
            switch (instruction) {
                case kCfaNop:
                    break;
                case kCfaSetLocation:
                    location = reader.pointer(facts_.pointer_encoding, 0);
                    break;
                case kCfaAdvance1:
                    location += reader.byte() * facts_.code_alignment;
                    break;
                case kCfaAdvance2:
                    location += reader.fixed<uint16_t>() * facts_.code_alignment;
                    break;
                case kCfaAdvance4:
                    location += reader.fixed<uint32_t>() * facts_.code_alignment;
                    break;
                case kCfaOffsetExtended:
                    reg = reader.uleb();
                    at_cfa(reg, static_cast<int64_t>(reader.uleb()));
                    break;
                case kCfaRestoreExtended:
                    restore(reader.uleb(), initial);
                    break;
                case kCfaUndefined:
                    set(reader.uleb(), RegisterRule::Undefined, 0);
                    break;
                case kCfaSameValue:
                    set(reader.uleb(), RegisterRule::SameValue, 0);
                    break;
                case kCfaInRegister:
                    reg = reader.uleb();
                    set(reg, RegisterRule::InRegister, static_cast<int64_t>(reader.uleb()));
                    break;
                case kCfaRememberState:
                    if (!remember()) return false;
                    break;
                case kCfaRestoreState:
                    if (!recall()) return false;
                    break;
                case kCfaDefineCfa:
                    reg = reader.uleb();
                    cfa(reg, static_cast<int64_t>(reader.uleb()));
                    break;
                case kCfaDefineCfaRegister:
                    cfa(reader.uleb(), rules_.cfa_offset);
                    break;
                case kCfaDefineCfaOffset:
                    rules_.cfa_offset = static_cast<int64_t>(reader.uleb());
                    break;
                case kCfaDefineCfaExpression:
                    cfa_expression(reader);
                    break;
                case kCfaAtExpression:
                    reg = reader.uleb();
                    expression(reg, RegisterRule::AtExpression, reader);
                    break;
                case kCfaOffsetExtendedSigned:
                    reg = reader.uleb();
                    at_cfa(reg, reader.sleb());
                    break;
                case kCfaDefineCfaSigned:
                    reg = reader.uleb();
                    cfa(reg, reader.sleb() * facts_.data_alignment);
                    break;
                case kCfaDefineCfaOffsetSigned:
                    rules_.cfa_offset = reader.sleb() * facts_.data_alignment;
                    break;
                case kCfaValueOffset:
                    reg = reader.uleb();
                    set(reg, RegisterRule::CfaPlus, static_cast<int64_t>(reader.uleb()) * facts_.data_alignment);
                    break;
                case kCfaValueOffsetSigned:
                    reg = reader.uleb();
                    set(reg, RegisterRule::CfaPlus, reader.sleb() * facts_.data_alignment);
                    break;
                case kCfaValueExpression:
                    reg = reader.uleb();
                    expression(reg, RegisterRule::IsExpression, reader);
                    break;
                case kCfaGnuArgumentsSize:
                    reader.uleb();
                    break;
                case kCfaGnuNegativeOffset:
                    reg = reader.uleb();
                    at_cfa(reg, -static_cast<int64_t>(reader.uleb()));
                    break;
                default:
                    return false;
            }
            if (location > pc) return reader.good();
        }
        return reader.good();
    }

private:
    void set(uint64_t reg, RegisterRule::Kind kind, int64_t offset) {
        const unsigned index = FrameRules::index_of(reg);
        if (index == FrameRules::kTracked) return;
        rules_.rules[index].kind = kind;
        rules_.rules[index].offset = offset;
    }
    void at_cfa(uint64_t reg, int64_t factored) { set(reg, RegisterRule::AtCfa, factored * facts_.data_alignment); }
    void restore(uint64_t reg, const FrameRules& initial) {
        const unsigned index = FrameRules::index_of(reg);
        if (index != FrameRules::kTracked) rules_.rules[index] = initial.rules[index];
    }
    void cfa(uint64_t reg, int64_t offset) {
        rules_.cfa_is_expression = false;
        rules_.cfa_register = reg < kRegisters ? static_cast<uint8_t>(reg) : kRegisters;
        rules_.cfa_offset = offset;
    }
    void cfa_expression(CfiReader& reader) {
        const uint64_t bytes = reader.uleb();
        rules_.cfa_is_expression = true;
        rules_.cfa_expression = {reader.position(), static_cast<uint32_t>(bytes)};
        reader.skip(bytes);
    }
    void expression(uint64_t reg, RegisterRule::Kind kind, CfiReader& reader) {
        const uint64_t bytes = reader.uleb();
        const unsigned index = FrameRules::index_of(reg);
        if (index != FrameRules::kTracked) {
            rules_.rules[index].kind = kind;
            rules_.rules[index].bytes = static_cast<uint32_t>(bytes);
            rules_.rules[index].expression = reader.position();
        }
        reader.skip(bytes);
    }
    bool remember() {
        if (remembered_ == kMaxRemembered) return false;
        stack_[remembered_++] = rules_;
        return true;
    }
    bool recall() {
        if (remembered_ == 0) return false;
        rules_ = stack_[--remembered_];
        return true;
    }

    const ProgramFacts& facts_;
    FrameRules& rules_;
    unsigned remembered_ = 0;
    FrameRules stack_[kMaxRemembered];
};

}  // namespace

bool run_cfi_program(const ProgramFacts& facts, CfiReader instructions, uintptr_t location, uintptr_t pc,
                     const FrameRules& initial, FrameRules& rules) {
    return Program(facts, rules).run(instructions, location, pc, initial);
}

}  // namespace vramtrace::shim
