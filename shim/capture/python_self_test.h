// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/capture/python_layout.h"

namespace vramtrace::shim {

// The type objects of one interpreter; what is of another type is not what the layout says.
struct PythonTypes {
    uintptr_t code = 0, text = 0, bytes = 0;
};

// Looks at the frames of a thread, through safe_copy alone, and asks of each whether it can be one: a code object, names
// that are str, a line table that is bytes, has the form of that version and covers the instruction that was running.
// Null: all of it is so, and `frames` of them were seen (0: the thread has none now, so nothing is proved). Else what is
// wrong. Made once, before any frame of an interpreter is believed: a build with another layout switches Python frames off.
const char* test_python_layout(const PythonLayout& layout, const PythonTypes& types, uintptr_t thread_state,
                               unsigned& frames);

}  // namespace vramtrace::shim
