// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramtrace::simulator {

// One number for each exported function, in the order of driver_functions.def.
enum class Function : uint16_t {
#define DRIVER_FUNCTION(symbol, base, since, stream, support) symbol,
#include "simulator/driver/driver_functions.def"
#undef DRIVER_FUNCTION
    kCount
};

constexpr size_t kFunctionCount = static_cast<size_t>(Function::kCount);

enum class DefaultStream : uint8_t { kLegacy, kPerThread };

struct FunctionInfo {
    const char* symbol;
    const char* base;
    int since;
    DefaultStream stream;
};

const FunctionInfo& info_of(Function function);
void* address_of(Function function);
// kCount if there is no such exported name.
Function function_named(const char* symbol);

}  // namespace vramtrace::simulator
