// SPDX-License-Identifier: Apache-2.0
// Every other name of the public headers: programs link and start, and a call says so.
#include "simulator/runtime/api_call.h"

using namespace vramtrace::simulator::runtime;

#define UNSUPPORTED(name)                                                    \
    extern "C" cudaError_t name();                                           \
    extern "C" cudaError_t name() {                                          \
        const cudaError_t error = driver_access().error;                     \
        return report(error != cudaSuccess ? error : cudaErrorNotSupported); \
    }
#include "simulator/runtime/unsupported_names.inc"
