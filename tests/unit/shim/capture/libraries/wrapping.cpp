// SPDX-License-Identifier: Apache-2.0
// A library like the one that is shipped: what captures is inside, and its frames must be left out wherever they are.
#include "shim/capture/stack_capture.h"

using vramtrace::shim::CapturedStack;

namespace {
volatile int sink;

[[gnu::noinline]] CapturedStack deeper(vramtrace::trace::DefinitionTable& definitions, unsigned depth) {
    const CapturedStack result = vramtrace::shim::capture_stack(definitions, depth);
    sink = 1;
    return result;
}
}  // namespace

extern "C" {
[[gnu::visibility("default"), gnu::noinline]] CapturedStack wrapped_capture(
    vramtrace::trace::DefinitionTable& definitions, unsigned depth) {
    const CapturedStack result = deeper(definitions, depth);
    sink = 2;
    return result;
}
// The library calls the program, which calls the library again.
[[gnu::visibility("default")]] void call_through(void (*callback)()) {
    callback();
    sink = 3;
}
[[gnu::visibility("default")]] void wrapped_unload() {
    vramtrace::shim::bump_unload_epoch();
}
}
