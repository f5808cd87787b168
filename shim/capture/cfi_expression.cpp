// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/cfi_expression.h"

#include "shim/capture/cfi_reader.h"

namespace vramtrace::shim {
namespace {

constexpr unsigned kDepth = 16, kMostSteps = 256;

class Stack {
public:
    bool push(uint64_t value) {
        if (count_ == kDepth) return false;
        values_[count_++] = value;
        return true;
    }
    bool pop(uint64_t& value) {
        if (count_ == 0) return false;
        value = values_[--count_];
        return true;
    }
    bool pick(unsigned from_top) { return from_top < count_ && push(values_[count_ - 1 - from_top]); }
    bool rotate(unsigned count) {  // the top one goes below count − 1 others
        if (count > count_) return false;
        const uint64_t top = values_[count_ - 1];
        for (unsigned i = 1; i < count; ++i) values_[count_ - i] = values_[count_ - i - 1];
        values_[count_ - count] = top;
        return true;
    }

private:
    uint64_t values_[kDepth];
    unsigned count_ = 0;
};

// Expressions of hand-written code read the stack, also just below the frame, and seldom anything else.
bool load(StackMemory& memory, uint64_t address, uint64_t& value) {
    if (memory.load(address, value)) return true;
    if ((address & 7) != 0 || address == 0 || !raw::readable(address)) return false;
    value = *reinterpret_cast<const uint64_t*>(address);
    return true;
}

bool binary(uint8_t op, uint64_t left, uint64_t right, uint64_t& result) {
    const auto signed_left = static_cast<int64_t>(left), signed_right = static_cast<int64_t>(right);
    switch (op) {
        case 0x1a:
            result = left & right;
            return true;
        case 0x1b:
            if (right == 0 || (signed_left == INT64_MIN && signed_right == -1)) return false;
            result = static_cast<uint64_t>(signed_left / signed_right);
            return true;
        case 0x1c:
            result = left - right;
            return true;
        case 0x1d:
            if (right == 0) return false;
            result = left % right;
            return true;
        case 0x1e:
            result = left * right;
            return true;
        case 0x21:
            result = left | right;
            return true;
        case 0x22:
            result = left + right;
            return true;
        case 0x24:
            result = right < 64 ? left << right : 0;
            return true;
        case 0x25:
            result = right < 64 ? left >> right : 0;
            return true;
        case 0x26:
            result = static_cast<uint64_t>(signed_left >> (right < 64 ? right : 63));
            return true;
        case 0x27:
            result = left ^ right;
            return true;
        case 0x29:
            result = left == right;
            return true;
        case 0x2a:
            result = signed_left >= signed_right;
            return true;
        case 0x2b:
            result = signed_left > signed_right;
            return true;
        case 0x2c:
            result = signed_left <= signed_right;
            return true;
        case 0x2d:
            result = signed_left < signed_right;
            return true;
        case 0x2e:
            result = left != right;
            return true;
        default:
            return false;
    }
}

bool constant(uint8_t op, CfiReader& reader, uint64_t& value) {
    switch (op) {
        case 0x03:
            value = reader.fixed<uint64_t>();
            return true;  // addr
        case 0x08:
            value = reader.byte();
            return true;  // const1u
        case 0x09:
            value = static_cast<uint64_t>(int64_t{reader.fixed<int8_t>()});
            return true;
        case 0x0a:
            value = reader.fixed<uint16_t>();
            return true;
        case 0x0b:
            value = static_cast<uint64_t>(int64_t{reader.fixed<int16_t>()});
            return true;
        case 0x0c:
            value = reader.fixed<uint32_t>();
            return true;
        case 0x0d:
            value = static_cast<uint64_t>(int64_t{reader.fixed<int32_t>()});
            return true;
        case 0x0e:
        case 0x0f:
            value = reader.fixed<uint64_t>();
            return true;
        case 0x10:
            value = reader.uleb();
            return true;  // constu
        case 0x11:
            value = static_cast<uint64_t>(reader.sleb());
            return true;  // consts
        default:
            if (op < 0x30 || op > 0x4f) return false;
            value = op - 0x30U;  // lit0 … lit31
            return true;
    }
}

bool based(uint64_t reg, CfiReader& reader, const RegisterSet& registers, uint64_t& value) {
    const int64_t offset = reader.sleb();
    if (reg >= kRegisters || !registers.has(static_cast<unsigned>(reg))) return false;
    value = registers.value[reg] + static_cast<uint64_t>(offset);
    return true;
}

}  // namespace

bool evaluate(const Expression& expression, const RegisterSet& registers, StackMemory& memory, const uint64_t* initial,
              uint64_t& result) {
    const uintptr_t first = expression.address, last = first + expression.bytes;
    CfiReader reader(first, last);
    Stack stack;
    if (initial != nullptr && !stack.push(*initial)) return false;
    for (unsigned step = 0; !reader.at_end(); ++step) {
        if (step == kMostSteps) return false;
        const uint8_t op = reader.byte();
        uint64_t a = 0, b = 0;
        bool good = true;
        if (constant(op, reader, a)) {
            good = stack.push(a);
        } else if (op >= 0x70 && op <= 0x8f) {  // breg0 … breg31
            good = based(op - 0x70U, reader, registers, a) && stack.push(a);
        } else {
            switch (op) {
                case 0x06:
                    good = stack.pop(a) && load(memory, a, b) && stack.push(b);
                    break;  // deref
                case 0x12:
                    good = stack.pick(0);
                    break;  // dup
                case 0x13:
                    good = stack.pop(a);
                    break;  // drop
                case 0x14:
                    good = stack.pick(1);
                    break;  // over
                case 0x15:
                    good = stack.pick(reader.byte());
                    break;  // pick
                case 0x16:
                    good = stack.rotate(2);
                    break;  // swap
                case 0x17:
                    good = stack.rotate(3);
                    break;  // rot
                case 0x19:
                    good = stack.pop(a) && stack.push(static_cast<int64_t>(a) < 0 ? -a : a);
                    break;  // abs
                case 0x1f:
                    good = stack.pop(a) && stack.push(-a);
                    break;  // neg
                case 0x20:
                    good = stack.pop(a) && stack.push(~a);
                    break;  // not
                case 0x23:
                    b = reader.uleb();
                    good = stack.pop(a) && stack.push(a + b);
                    break;    // plus_uconst
                case 0x28:    // bra
                case 0x2f: {  // skip
                    const int16_t distance = reader.fixed<int16_t>();
                    good = op == 0x2f || stack.pop(a);
                    if (good && (op == 0x2f || a != 0)) {
                        const uintptr_t target = reader.position() + static_cast<uintptr_t>(int64_t{distance});
                        good = reader.good() && target >= first && target <= last;
                        reader = CfiReader(target, last);
                    }
                    break;
                }
                case 0x92:
                    good = based(reader.uleb(), reader, registers, a) && stack.push(a);
                    break;  // bregx
                case 0x96:
                    break;  // nop
                default:
                    good = stack.pop(b) && stack.pop(a) && binary(op, a, b, a) && stack.push(a);
            }
        }
        if (!good) return false;
    }
    return reader.good() && stack.pop(result);
}

}  // namespace vramtrace::shim
