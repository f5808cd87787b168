// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "analyzer/symbolize/frame.h"

// WHICH NATIVE FRAMES ARE THE PYTHON INTERPRETER'S, and what they do there.
namespace vramtrace::symbolize {

enum class NativeRole : uint8_t {
    Outside,         // not the interpreter's
    Evaluation,      // runs Python code: one evaluation of a run of Python frames
    EvaluationPart,  // one instruction of an interpreter built with tail calls: its evaluation, or inside the next frame's
    Collection,      // the garbage collector at work: of the interpreter, but it says why something was freed
    EvaluatesCode,  // PyEval_EvalCode: an evaluation is called below it
    RunsMain,       // Py_RunMain and the like: evaluates one piece of code, by EvaluatesCode
    Plumbing,       // any other function of the interpreter
    Unnamed,        // of the interpreter's file, no name known: may be any of these
    Start,          // of the C library: how programs and threads are started, besides much else
};

// "python3.12", "libpython3.11.so.1.0": all code in there is the interpreter's.
bool is_interpreter_file(std::string_view path);
// By the name of the (not inlined) function.
bool is_evaluation(const SourceFrames& names);

// `embeds`: evaluations were seen in this file, so if it is not called like an interpreter, one is linked into a
// program. There only functions with names like CPython's are plumbing.
NativeRole native_role(std::string_view module, const SourceFrames& names, bool embeds);

}  // namespace vramtrace::symbolize
