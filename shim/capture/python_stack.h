// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/capture/code_objects.h"
#include "shim/capture/native_stack.h"
#include "shim/capture/python_interpreter.h"
#include "shim/capture/stack_table.h"
#include "trace/definition.h"
#include "trace/process_header.h"

namespace vramtrace::trace {
class DefinitionTable;
}

// THE PYTHON FRAMES OF THE CALLING THREAD, without the GIL, a reference or a lock (python_chain.h says why that is sound),
// and the native and the Python stack of one moment as one.
namespace vramtrace::shim {

// Room for one walk, and what the last one in this room gave. Usable when zero-filled.
struct PythonSpace {
    static constexpr unsigned kFrames = 1024;

    void forget() { last_id = joined_id = 0; }

    trace::Frame frames[2][kFrames];  // the last walk's are in frames[last]
    unsigned last;
    unsigned last_count;
    uint16_t last_flags;
    trace::DefinitionId last_id;  // 0: nothing is remembered
    trace::DefinitionId joined_native, joined_python, joined_id;
    CodeScratch scratch;
};

struct PythonStack {
    trace::DefinitionId id = 0;  // 0: the thread has no Python frames, or `loss` says why they are not there
    trace::Loss loss = trace::Loss::Count;
};

// Usable when zero-filled.
class PythonStacks {
public:
    // `native` is the native stack of this moment. A signal handler in it means that the interpreter may be in the middle
    // of anything; so does a stack that ends before the interpreter, since a handler may lie in what is missing.
    PythonStack take(const ModuleList& modules, StackTable& stacks, trace::DefinitionTable& definitions,
                     PythonSpace& space, unsigned depth, const NativeStack& native);

    // The two as one definition; 0: no room.
    trace::DefinitionId join(trace::DefinitionId native, trace::DefinitionId python,
                             trace::DefinitionTable& definitions, PythonSpace& space);

    // Whether any interpreter could have frames here; cheap.
    bool may_have_frames(const ModuleList& modules, trace::DefinitionTable& definitions) {
        interpreters_.look(modules, definitions);
        return interpreters_.get(0) != nullptr;
    }

private:
    template <typename Memory>
    PythonStack walk(const Interpreter& interpreter, uintptr_t thread_state, StackTable& stacks,
                     trace::DefinitionTable& definitions, PythonSpace& space, unsigned depth);

    InterpreterList interpreters_;
    CodeObjects codes_;
    InternTable joined_;
};

}  // namespace vramtrace::shim
