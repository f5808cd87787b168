// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <new>
#include <vector>

#include "simulator/driver/cuda_api.h"
#include "simulator/driver/functions.h"
#include "simulator/machine.h"

namespace vramtrace::simulator {

// Ends a driver call with an error from however deep inside.
struct Refusal {
    CUresult code;
};

[[noreturn]] inline void refuse(CUresult code) {
    throw Refusal{code};
}

inline void require(bool condition, CUresult code = CUDA_ERROR_INVALID_VALUE) {
    if (!condition) {
        refuse(code);
    }
}

// The driver call this thread is in: its exported name and which stream 0 means.
Function current_function();
bool zero_is_per_thread();

enum class Needs { kInit, kNothing };

// Before the lock: counts, failures on demand, life of the driver. CUDA_SUCCESS if the call may proceed.
CUresult begin_call(Function function, Needs needs);
// After the lock: counts the outcome.
void end_call(Function function, CUresult result);

class CallScope {
public:
    explicit CallScope(Function function);
    ~CallScope();
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;

private:
    Function outer_;
};

// The one body of every supported export.
template <class Body>
CUresult enter(Function function, Body body, Needs needs = Needs::kInit) {
    CUresult result = begin_call(function, needs);
    std::vector<std::function<void()>> functions_of_the_program;
    if (result == CUDA_SUCCESS) {
        const CallScope scope(function);
        const std::lock_guard lock(Machine::get().mutex);
        try {
            result = body();
        } catch (const Refusal& refusal) {
            result = refusal.code;
        } catch (const std::bad_alloc&) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
        functions_of_the_program = Machine::get().take_later();
    }
    end_call(function, result);
    for (const auto& call : functions_of_the_program) {
        call();
    }
    return result;
}

}  // namespace vramtrace::simulator

// SIM_API(name, (parameters), (arguments)) { body }: one export.
#define SIM_API(name, parameters, arguments)                                       \
    static CUresult name##_body parameters;                                        \
    CUresult CUDAAPI name parameters {                                             \
        return vramtrace::simulator::enter(vramtrace::simulator::Function::name,   \
                                           [&] { return name##_body arguments; }); \
    }                                                                              \
    static CUresult name##_body parameters

// The same for a function that works before cuInit and after the end.
#define SIM_API_ALWAYS(name, parameters, arguments)                                      \
    static CUresult name##_body parameters;                                              \
    CUresult CUDAAPI name parameters {                                                   \
        return vramtrace::simulator::enter(                                              \
            vramtrace::simulator::Function::name, [&] { return name##_body arguments; }, \
            vramtrace::simulator::Needs::kNothing);                                      \
    }                                                                                    \
    static CUresult name##_body parameters

// Two exports with one body: the function and its twin for per-thread default streams (suffix _ptsz or _ptds).
#define SIM_STREAM_API(name, suffix, parameters, arguments)                              \
    static CUresult name##_body parameters;                                              \
    CUresult CUDAAPI name parameters {                                                   \
        return vramtrace::simulator::enter(vramtrace::simulator::Function::name,         \
                                           [&] { return name##_body arguments; });       \
    }                                                                                    \
    CUresult CUDAAPI name##suffix parameters {                                           \
        return vramtrace::simulator::enter(vramtrace::simulator::Function::name##suffix, \
                                           [&] { return name##_body arguments; });       \
    }                                                                                    \
    static CUresult name##_body parameters

// Another ABI of the same signature: SIM_ALIAS(exported name, body of, (parameters), (arguments)).
#define SIM_ALIAS(name, original, parameters, arguments)                               \
    CUresult CUDAAPI name parameters {                                                 \
        return vramtrace::simulator::enter(vramtrace::simulator::Function::name,       \
                                           [&] { return original##_body arguments; }); \
    }
