// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/symbolize/interpreter_frames.h"

// ONE STACK OF TWO: native and Python frames of the same thread and moment, each innermost first.
//
//     native                      Python                  merged
//     cudaMalloc                                          cudaMalloc
//     c10::…::malloc                                      c10::…::malloc
//     cfunction_call                                      (plumbing: dropped)
//     _PyEval_EvalFrameDefault    forward                 forward
//                                 __call__ (entered)      __call__
//     THPFunction_apply                                   THPFunction_apply
//     _PyEval_EvalFrameDefault    step                    step
//                                 <module> (entered)      <module>
//     Py_RunMain, main, …                                 (plumbing)
//
// No Python frame is ever left out, and neither kind changes its order. Only their places among each other can be
// uncertain: if there are not as many evaluations as runs.
namespace vramtrace::symbolize {

struct MergedFrame {
    bool python = false;
    uint32_t index = 0;  // of the frame in its own stack

    bool operator==(const MergedFrame&) const = default;
};

struct MergedStack {
    std::vector<MergedFrame> frames;
    // Which native frames ran some Python frames could not be told: the interpreter's file has no symbols, or a stack is
    // damaged.
    bool guessed = false;
};

struct StacksToMerge {
    std::span<const NativeRole> native;
    bool native_whole = true;  // reaches the thread's start
    // Of each Python frame: the outermost of its run.
    std::span<const uint8_t> entered;
    bool python_whole = true;
};
MergedStack merge_stacks(const StacksToMerge& stacks);

}  // namespace vramtrace::symbolize
