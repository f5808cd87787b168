// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/framework_names.h"
#include "shim/real/cuda_types.h"
#include "trace/event.h"

// Both tables as numbers and names. A Name is what Event::api and Event::label hold: its place in the Names definition.
namespace vramtrace::shim {

enum class Name : uint8_t {
    None = trace::kNoName,
#define DRIVER(symbol, effect, parameters, arguments) symbol,
#include "shim/hooks/driver_functions.def"
#undef DRIVER
#define RUNTIME(symbol, bytes, parameters, arguments) symbol,
#include "shim/hooks/runtime_functions.def"
#undef RUNTIME
    End
};

// Which of the two libraries a function belongs to, and its place among that library's functions.
enum class Library : uint8_t { Driver, Runtime };

#define DRIVER(symbol, effect, parameters, arguments) +1
constexpr unsigned kDriverFunctions = 0
#include "shim/hooks/driver_functions.def"
    ;
#undef DRIVER
#define RUNTIME(symbol, bytes, parameters, arguments) +1
constexpr unsigned kRuntimeFunctions = 0
#include "shim/hooks/runtime_functions.def"
    ;
#undef RUNTIME
static_assert(kDriverFunctions + kRuntimeFunctions < kFirstFrameworkName, "the rest of the 8 bits is the frameworks'");

constexpr Library library_of(Name name) {
    return static_cast<unsigned>(name) <= kDriverFunctions ? Library::Driver : Library::Runtime;
}
constexpr unsigned place_of(Name name) {
    const unsigned number = static_cast<unsigned>(name) - 1;
    return number < kDriverFunctions ? number : number - kDriverFunctions;
}

// Exported names of a library's functions, in table order.
const char* const* driver_names();
const char* const* runtime_names();
const char* name_text(Name name);

// Name::None if `text` is no exported name of a row.
Name name_of(const char* text);
// Whether a name of driver_passed.def.
bool is_passed(const char* text);

// The body of the Names definition: all names with their NULs, "" first, and "" where the tables have room left before
// the frameworks' names (framework_names.h).
struct NamesText {
    const char* text;
    uint32_t bytes;
};
NamesText names_text();

// A wrapper as the tables hold it: cast to the row's own type before it is called.
using AnyFunction = void (*)();

}  // namespace vramtrace::shim
