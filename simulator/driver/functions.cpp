// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/functions.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace vramtrace::simulator {
namespace {

constexpr std::array<FunctionInfo, kFunctionCount> kFunctions = {{
#define DRIVER_FUNCTION(symbol, base, since, stream, support) {#symbol, #base, since, DefaultStream::stream},
#include "simulator/driver/driver_functions.def"
#undef DRIVER_FUNCTION
}};

}  // namespace

const FunctionInfo& info_of(Function function) {
    return kFunctions[static_cast<size_t>(function)];
}

Function function_named(const char* symbol) {
    for (size_t i = 0; i < kFunctionCount; ++i) {
        if (std::strcmp(kFunctions[i].symbol, symbol) == 0) {
            return static_cast<Function>(i);
        }
    }
    return Function::kCount;
}

}  // namespace vramtrace::simulator
