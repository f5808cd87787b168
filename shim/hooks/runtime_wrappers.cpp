// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/wrapper.h"

// The runtime table expanded, as in driver_wrappers.cpp. A wrapper passes a call on to the runtime that its caller is
// linked with, or that the look-up found: several may live in one process.
namespace vramtrace::shim {

namespace {
void* linked_runtime(Name name, const void* caller) {
    void* real = linked_function(static_cast<unsigned>(name), name_text(name), caller);
    if (real != nullptr) know_runtime_of(real);
    return real;
}
}  // namespace

#define RUNTIME(symbol, bytes_asked, parameters, arguments)                                      \
    extern "C" [[gnu::visibility("default")]] Result symbol parameters {                         \
        void* real = linked_runtime(Name::symbol, __builtin_return_address(0));                  \
        return RuntimeWrapper<Name::symbol>{real, static_cast<uint64_t>(bytes_asked)} arguments; \
    }                                                                                            \
    template <unsigned kImage>                                                                   \
    Result image_##symbol parameters {                                                           \
        void* real = image_function(Library::Runtime, kImage, place_of(Name::symbol));           \
        return RuntimeWrapper<Name::symbol>{real, static_cast<uint64_t>(bytes_asked)} arguments; \
    }
#include "shim/hooks/runtime_functions.def"
#undef RUNTIME

static_assert(kRuntimeImages == 3);
const AnyFunction runtime_wrappers[kRuntimeFunctions][kRuntimeImages] = {
#define RUNTIME(symbol, bytes_asked, parameters, arguments)                                                \
    {reinterpret_cast<AnyFunction>(&image_##symbol<0>), reinterpret_cast<AnyFunction>(&image_##symbol<1>), \
     reinterpret_cast<AnyFunction>(&image_##symbol<2>)},
#include "shim/hooks/runtime_functions.def"
#undef RUNTIME
};

}  // namespace vramtrace::shim
