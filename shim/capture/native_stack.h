// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/capture/code_map.h"
#include "shim/capture/stack_memory.h"
#include "shim/capture/unwind_memo.h"
#include "trace/definition.h"
#include "trace/process_header.h"

// THE WALK over a native stack by cached rows.
//
//   pc, rsp, rbp ──row of pc──▶ CFA ──▶ return address at CFA − 8, caller's rbp by its rule, caller's rsp = CFA ──▶ again
//
// Almost all code needs rsp and rbp only. When a frame hangs on another register (r10 and r13 of realigned prologues, rbx
// in hand-written code) the walk starts again with all registers (full_walk.h).
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

// Room for a walk and what is remembered of the last one. Usable when zero-filled.
struct WalkSpace {
    static constexpr unsigned kFrames = 1024;
    // A stack that is cut off at the depth limit is walked a little further, so that the next one may be that much
    // shallower in its inner part and still join.
    static constexpr unsigned kMargin = 32;

    UnwindMemo memo;
    MemoStep steps[UnwindMemo::kSteps];
    trace::Frame frames[kFrames + kMargin];
};

struct NativeStack {
    const trace::Frame* frames = nullptr;  // in the walk's space; innermost first
    unsigned count = 0;
    uint16_t flags = 0;                     // trace::StackFlags
    trace::Loss loss = trace::Loss::Count;  // Count: none
    uint64_t hash = 0;                      // StackHash of the frames
    trace::DefinitionId id = 0;             // not 0: the same stack as last time, whose id this is
    bool interrupted = false;               // a signal handler is at work on this stack
    bool remembered = false;                // memo.set_id() is welcome
    unsigned walked = 0;                    // steps that were really made with the memo; for tests
};

enum class UseMemo : bool { No = false, Yes = true };

// The frames above the function that `start` lies in; that function itself is not among them. 1 ≤ depth ≤ kFrames.
NativeStack walk_native_stack(CodeMap& code, trace::DefinitionTable& definitions, const StartRegisters& start,
                              StackMemory& memory, WalkSpace& space, unsigned depth, UseMemo use_memo = UseMemo::Yes);

}  // namespace vramtrace::shim
