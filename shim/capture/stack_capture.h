// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "trace/definition.h"
#include "trace/process_header.h"

namespace vramtrace::trace {
class DefinitionTable;
}

namespace vramtrace::shim {

struct CapturedStack {
    trace::DefinitionId id = 0;             // 0: none, and `loss` says why
    trace::Loss loss = trace::Loss::Count;  // beside an id: of which part something is missing, why
};

// The calling thread's stack as one definition id: native frames innermost first, frames of our own library left out,
// at most `depth` (1…1024) frames, kStackTruncated when there were more. Interned: equal stacks give equal ids until the
// next dlclose epoch. Async-signal-safe in the sense that a capture inside a capture answers Loss::StackNested.
// No lock is held while the job's code can run; no heap of the job; no dl_iterate_phdr on the usual path.
// With Python frames of the thread, if it has any, the id is that of a JoinedStack; if only the native stack could not be
// taken, `loss` says why beside it.
enum class WithPython : bool { No = false, Yes = true };
CapturedStack capture_stack(trace::DefinitionTable& definitions, unsigned depth, WithPython python = WithPython::Yes);

// A dlclose has happened: addresses may mean something else from now on. Called by hooks/dlclose.cpp after the real call.
void bump_unload_epoch();

}  // namespace vramtrace::shim
