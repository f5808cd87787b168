// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/capture/code_map.h"
#include "shim/capture/stack_memory.h"
#include "trace/definition.h"
#include "trace/process_header.h"

// THE WALK over a native stack by cached rows.
//
//   pc, rsp, rbp ──row of pc──▶ CFA ──▶ return address at CFA − 8, caller's rbp by its rule, caller's rsp = CFA ──▶ again
//
// Almost all code needs rsp and rbp only. When a frame hangs on another register (r10 and r13 of realigned prologues, rbx
// in hand-written code) the walk starts again with all registers. Signal frames are read from the kernel's structure.
namespace vramtrace::shim {

// The registers of one moment; what a callee must keep and what names the frame.
struct StartRegisters {
    uint64_t pc = 0, rsp = 0, rbp = 0, rbx = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;
};

// Must be inlined: the registers are those of the function in which it stands.
[[gnu::always_inline]] inline void read_registers(StartRegisters& registers) {
    asm volatile(
        "leaq 1f(%%rip), %%rax\n"
        "1:\n\t"
        "movq %%rax, 0(%0)\n\t"
        "movq %%rsp, 8(%0)\n\t"
        "movq %%rbp, 16(%0)\n\t"
        "movq %%rbx, 24(%0)\n\t"
        "movq %%r12, 32(%0)\n\t"
        "movq %%r13, 40(%0)\n\t"
        "movq %%r14, 48(%0)\n\t"
        "movq %%r15, 56(%0)"
        :
        : "r"(&registers)
        : "rax", "memory");
}

struct NativeStack {
    trace::Frame* frames = nullptr;  // in; innermost first
    unsigned depth = 0;              // in; room in `frames`
    unsigned count = 0;
    uint16_t flags = 0;                     // trace::StackFlags
    trace::Loss loss = trace::Loss::Count;  // Count: none
};

// The frames above the function that `start` lies in; that function itself is not among them.
void walk_native_stack(CodeMap& code, trace::DefinitionTable& definitions, const StartRegisters& start,
                       StackMemory& memory, NativeStack& stack);

}  // namespace vramtrace::shim
