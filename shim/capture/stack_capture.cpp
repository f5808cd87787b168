// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/stack_capture.h"

#include "shim/arena.h"
#include "shim/capture/native_stack.h"
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

// The pages of this thread's stack that are known to be readable.
[[gnu::tls_model("initial-exec")]] thread_local constinit StackMemory thread_stack{};

class Capturing {
public:
    Capturing() {
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

CapturedStack lost(trace::Loss why) {
    return {0, why};
}

CapturedStack capture_from(const StartRegisters& start, CaptureState& state, WalkSpace& space,
                           trace::DefinitionTable& definitions, unsigned depth) {
    if (depth < 1) depth = 1;
    if (depth > WalkSpace::kFrames) depth = WalkSpace::kFrames;
    NativeStack stack;
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

}  // namespace

// Not inlined: the walk leaves out the function that it starts in.
[[gnu::noinline]] CapturedStack capture_stack(trace::DefinitionTable& definitions, unsigned depth) {
    if (thread_state.capturing) return lost(trace::Loss::StackNested);
    const Capturing capturing;
    StartRegisters start;
    read_registers(start);
    auto* state = root_object<CaptureState>(RootSlot::Capture);
    if (state == nullptr) return lost(trace::Loss::StackFailed);
    const ThreadSlotUse slot(state->slots);
    if (slot.get() == nullptr) return lost(trace::Loss::StackFailed);
    return capture_from(start, *state, slot.get()->space, definitions, depth);
}

}  // namespace vramtrace::shim
