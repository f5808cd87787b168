// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/capture/cfi_program.h"
#include "shim/capture/stack_memory.h"

namespace vramtrace::shim {

// Values of the registers of one frame, as far as they are known.
struct RegisterSet {
    uint64_t value[kRegisters] = {};
    uint32_t known = 0;  // a bit each

    bool has(unsigned reg) const { return reg < kRegisters && (known >> reg & 1); }
    void set(unsigned reg, uint64_t new_value) {
        value[reg] = new_value;
        known |= 1U << reg;
    }
    void drop(unsigned reg) { known &= ~(1U << reg); }
};

// Works a DWARF expression out. `initial`, if given, is on the stack at the start. False: unknown register, operation or
// memory, or no end within a bounded number of steps.
bool evaluate(const Expression& expression, const RegisterSet& registers, StackMemory& memory, const uint64_t* initial,
              uint64_t& result);

}  // namespace vramtrace::shim
