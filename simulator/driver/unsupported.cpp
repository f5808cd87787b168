// SPDX-License-Identifier: Apache-2.0
// The bodies of the REFUSED rows: counted like any call, answered with CUDA_ERROR_NOT_SUPPORTED. Their parameters do
// not matter, so this file must not see the driver's prototypes.
#include "simulator/driver/functions.h"
#include "simulator/machine.h"

namespace {

constexpr int kNotSupported = 801;

int refuse_call(vramtrace::simulator::Function function) {
    const int injected = vramtrace::simulator::Machine::get().failures.on_call(function);
    return injected != 0 ? injected : kNotSupported;
}

}  // namespace

#define SUPPORTED(symbol)
#define REFUSED(symbol)                                             \
    extern "C" [[gnu::visibility("default")]] int symbol() {        \
        return refuse_call(vramtrace::simulator::Function::symbol); \
    }
#define DRIVER_FUNCTION(symbol, base, since, stream, support) support(symbol)
#include "simulator/driver/driver_functions.def"
#undef DRIVER_FUNCTION
