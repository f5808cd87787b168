// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/call.h"

namespace vramtrace::simulator {
namespace {

thread_local Function function_now = Function::kCount;

}  // namespace

Function current_function() {
    return function_now;
}

bool zero_is_per_thread() {
    return function_now != Function::kCount && info_of(function_now).stream == DefaultStream::kPerThread;
}

CallScope::CallScope(Function function) : outer_(function_now) {
    function_now = function;
}

CallScope::~CallScope() {
    function_now = outer_;
}

CUresult begin_call(Function function, Needs needs) {
    Machine& machine = Machine::get();
    if (const int code = machine.failures.on_call(function)) {
        return static_cast<CUresult>(code);
    }
    if (needs == Needs::kNothing) {
        return CUDA_SUCCESS;
    }
    switch (machine.phase()) {
        case Machine::Phase::kRunning:
            return CUDA_SUCCESS;
        case Machine::Phase::kShutDown:
            return CUDA_ERROR_DEINITIALIZED;
        case Machine::Phase::kNew:
        case Machine::Phase::kForked:
            break;
    }
    return CUDA_ERROR_NOT_INITIALIZED;
}

void end_call(Function function, CUresult result) {
    if (result == CUDA_SUCCESS) {
        Machine::get().failures.on_success(function);
    }
}

}  // namespace vramtrace::simulator
