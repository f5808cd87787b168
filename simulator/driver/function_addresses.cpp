// SPDX-License-Identifier: Apache-2.0
// The address of every export. Declares them without their parameters, so this file must not see the prototypes.
#include "simulator/driver/functions.h"

extern "C" {
#define DRIVER_FUNCTION(symbol, base, since, stream, support) int symbol();
#include "simulator/driver/driver_functions.def"
#undef DRIVER_FUNCTION
}

namespace vramtrace::simulator {

void* address_of(Function function) {
    using Entry = int (*)();
    static constexpr Entry kEntries[] = {
#define DRIVER_FUNCTION(symbol, base, since, stream, support) symbol,
#include "simulator/driver/driver_functions.def"
#undef DRIVER_FUNCTION
    };
    return reinterpret_cast<void*>(kEntries[static_cast<size_t>(function)]);
}

}  // namespace vramtrace::simulator
