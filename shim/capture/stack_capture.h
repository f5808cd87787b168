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
    trace::DefinitionId id = 0;  // 0: none, and `loss` says why
    trace::Loss loss = trace::Loss::Count;
};

// The calling thread's stack as one definition id: native frames innermost first, frames of our own library left out,
// at most `depth` (1…1024) frames, kStackTruncated when there were more. Interned: equal stacks give equal ids until the
// next dlclose epoch. Async-signal-safe in the sense that a capture inside a capture answers Loss::StackNested.
// No lock is held while the job's code can run; no heap of the job; no dl_iterate_phdr on the usual path.
CapturedStack capture_stack(trace::DefinitionTable& definitions, unsigned depth);

// A dlclose has happened: addresses may mean something else from now on. Called by hooks/dlclose.cpp after the real call.
void bump_unload_epoch();

}  // namespace vramtrace::shim
