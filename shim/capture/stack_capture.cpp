// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/stack_capture.h"

#include <signal.h>

#include "shim/arena.h"
#include "shim/capture/native_stack.h"
#include "shim/capture/python_stack.h"
#include "shim/capture/raw_calls.h"
#include "shim/capture/stack_table.h"
#include "shim/capture/thread_slots.h"
#include "shim/thread_state.h"

namespace vramtrace::shim {
namespace {

// Everything that captures share; zero in a fork's child, which starts anew. Usable when zero-filled.
struct CaptureState {
    CodeMap code;
    StackTable stacks;
    ThreadSlots slots;
};

// The pages of this thread's stack that are known to be readable, and where the capture in progress stands.
[[gnu::tls_model("initial-exec")]] thread_local constinit StackMemory thread_stack{};
[[gnu::tls_model("initial-exec")]] thread_local constinit uintptr_t capture_frame = 0;

class Capturing {
public:
    explicit Capturing(uintptr_t frame) {
        capture_frame = frame;
        thread_state.capturing = 1;
        std::atomic_signal_fence(std::memory_order_seq_cst);  // before a handler could capture in between
    }
    ~Capturing() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        thread_state.capturing = 0;
    }
    Capturing(const Capturing&) = delete;
    Capturing& operator=(const Capturing&) = delete;
};

bool on_signal_stack() {
    stack_t now{};
    raw::call(SYS_sigaltstack, 0, reinterpret_cast<long>(&now));
    return (now.ss_flags & SS_ONSTACK) != 0;
}

// A handler of the job that left a capture by longjmp left its mark, too. We stand at or above the place where that
// capture was, on the same stack: it is gone. (A handler's own stack may lie above, inside of the thread's.)
bool was_abandoned(uintptr_t frame) {
    return frame >= capture_frame && thread_stack.contains(frame) && thread_stack.contains(capture_frame) &&
           !on_signal_stack();
}

CapturedStack lost(trace::Loss why) {
    return {0, why};
}

CapturedStack capture_native(const StartRegisters& start, CaptureState& state, WalkSpace& space,
                             trace::DefinitionTable& definitions, unsigned depth, NativeStack& stack) {
    if (depth < 1) depth = 1;
    if (depth > WalkSpace::kFrames) depth = WalkSpace::kFrames;
    // Once more if modules were found gone in the middle: the frames before that may name them.
    constexpr int kTries = 3;
    for (int i = 0; i < kTries; ++i) {
        if (!state.code.refresh()) return lost(trace::Loss::StackFailed);
        const uint64_t epoch = state.code.epoch();
        stack = walk_native_stack(state.code, definitions, start, thread_stack, space, depth);
        if (state.code.epoch() == epoch) break;
    }
    if (stack.id != 0) return {stack.id, trace::Loss::Count};
    if (stack.loss != trace::Loss::Count) return lost(stack.loss);
    if (stack.count == 0) return lost(trace::Loss::StackFailed);
    const trace::DefinitionId id = state.stacks.intern(definitions, stack.frames, stack.count, stack.flags, stack.hash);
    if (id == 0) return lost(trace::Loss::DefinitionFull);
    if (stack.remembered) space.memo.set_id(id, depth);
    return {id, trace::Loss::Count};
}

// The native stack `captured`, with the thread's Python frames beside it if it has any.
CapturedStack add_python(const CapturedStack& captured, const NativeStack& native, CaptureState& state,
                         PythonStacks& python, const ThreadSlotUse& slot, trace::DefinitionTable& definitions,
                         unsigned depth) {
    if (!python.may_have_frames(state.code.modules(), definitions)) return captured;
    PythonSpace* space = slot.python();
    if (space == nullptr) return captured;
    const PythonStack stack = python.take(state.code.modules(), state.stacks, definitions, *space, depth, native);
    if (stack.id == 0) return stack.loss == trace::Loss::Count ? captured : CapturedStack{captured.id, stack.loss};
    const trace::DefinitionId joined = python.join(captured.id, stack.id, definitions, *space);
    if (joined == 0) return {captured.id, trace::Loss::DefinitionFull};
    return {joined, captured.loss};
}

}  // namespace

// Not inlined: the walk leaves out the function that it starts in.
[[gnu::noinline]] CapturedStack capture_stack(trace::DefinitionTable& definitions, unsigned depth, WithPython python) {
    const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (thread_state.capturing && !was_abandoned(frame)) return lost(trace::Loss::StackNested);
    const Capturing capturing(frame);
    StartRegisters start;
    read_registers(start);
    auto* state = root_object<CaptureState>(RootSlot::Capture);
    if (state == nullptr) return lost(trace::Loss::StackFailed);
    const ThreadSlotUse slot(state->slots);
    if (slot.space() == nullptr) return lost(trace::Loss::StackFailed);
    NativeStack native;
    const CapturedStack captured = capture_native(start, *state, *slot.space(), definitions, depth, native);
    auto* interpreters = python == WithPython::Yes ? root_object<PythonStacks>(RootSlot::Python) : nullptr;
    if (interpreters == nullptr) return captured;
    return add_python(captured, native, *state, *interpreters, slot, definitions, depth);
}

}  // namespace vramtrace::shim
