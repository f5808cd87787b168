// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/capture/native_stack.h"

namespace vramtrace::shim {

// The walk that keeps track of every register that a callee must keep, and of all after a signal frame. Slower, and
// needed only when some frame on the stack hangs on another register than rsp and rbp. `frames` has room for `depth`.
void walk_with_all_registers(CodeMap& code, trace::DefinitionTable& definitions, const StartRegisters& start,
                             StackMemory& memory, trace::Frame* frames, unsigned depth, NativeStack& stack);

}  // namespace vramtrace::shim
