// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/capture/modules.h"
#include "shim/capture/python_layout.h"
#include "shim/capture/python_self_test.h"

namespace vramtrace::trace {
class DefinitionTable;
}

// THE INTERPRETERS OF THIS PROCESS.
//
//   a native walk meets a module for the first time ──▶ does it define PyGILState_GetThisThreadState? ──▶ Interpreter
//
// Only modules that were met are asked: their code is running, so they are loaded and relocated, which a mapping alone does
// not say; and a thread that has Python frames has native frames of its interpreter. So a library that comes later, under
// RTLD_LOCAL or in a namespace of its own is found like any other, and a process without Python pays one comparison a capture.
//
//   Untested ──first frames of a thread pass the self-test──▶ Ready
//       └──version unknown, free-threaded, or they do not──▶ Off, for good; a Fact says why
namespace vramtrace::shim {

enum class InterpreterState : uint32_t { Untested = 0, Ready = 1, Off = 2 };

struct Interpreter {
    std::atomic<InterpreterState> state;  // release when left Untested, pairs with the acquire of whoever reads it
    const Module* module;                 // its functions must not be called once this is gone
    void* (*this_thread_state)();         // reads a thread-specific pointer: no lock, null for threads without Python
    int (*is_finalizing)();               // reads a word
    PythonTypes types;
    PythonLayout layout;
    char name[40];  // "CPython 3.12.3"

    // The state of the calling thread; 0: none, or the interpreter ends (then others free what belongs to this thread).
    uintptr_t thread_state() const {
        if (module->gone.load(std::memory_order_acquire) || is_finalizing() != 0) return 0;
        return reinterpret_cast<uintptr_t>(this_thread_state());
    }
    // Leaves Untested, once; Off with a reason says so in a Fact.
    void settle(InterpreterState to, const char* reason, trace::DefinitionTable& definitions);
};

// Usable when zero-filled.
class InterpreterList {
public:
    static constexpr size_t kMost = 4;

    // Looks at the modules that were met since the last time. One comparison if there are none.
    void look(const ModuleList& modules, trace::DefinitionTable& definitions) {
        // acquire, pairs with the release in look_again(): what was found then is in the list.
        if (looked_.load(std::memory_order_acquire) != modules.met()) [[unlikely]]
            look_again(modules, definitions);
    }
    // Null: no more.
    Interpreter* get(size_t index) const {
        return index < kMost ? list_[index].load(std::memory_order_acquire) : nullptr;  // pairs with the CAS in add()
    }

private:
    void look_again(const ModuleList& modules, trace::DefinitionTable& definitions);
    void add(Interpreter& found, trace::DefinitionTable& definitions, const char* refusal);

    std::atomic<uint32_t> looked_;
    std::atomic<Interpreter*> list_[kMost];
    std::atomic<uint64_t> examined_[ModuleList::kMaxModules / 64];  // a bit a module; relaxed: twice does no harm
};

}  // namespace vramtrace::shim
