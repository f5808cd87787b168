// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/effects/arrays.h"
#include "shim/hooks/effects/contexts.h"
#include "shim/hooks/effects/device_memory.h"
#include "shim/hooks/effects/graphs.h"
#include "shim/hooks/effects/host_memory.h"
#include "shim/hooks/effects/modules.h"
#include "shim/hooks/effects/pools.h"
#include "shim/hooks/effects/resolvers.h"
#include "shim/hooks/effects/sharing.h"
#include "shim/hooks/effects/streams.h"
#include "shim/hooks/effects/virtual_memory.h"
#include "shim/hooks/wrapper.h"

// The driver table expanded: each row becomes an exported function, for programs linked with -lcuda, and one function per
// image, for those who look it up. The return address is taken in the exported function itself.
namespace vramtrace::shim {

#define DRIVER(symbol, effect, parameters, arguments)                                      \
    extern "C" [[gnu::visibility("default")]] Result symbol parameters {                   \
        return linked_driver<effect, Name::symbol>(__builtin_return_address(0)) arguments; \
    }                                                                                      \
    template <unsigned kImage>                                                             \
    Result image_##symbol parameters {                                                     \
        return looked_up_driver<effect, Name::symbol>(kImage) arguments;                   \
    }
#include "shim/hooks/driver_functions.def"
#undef DRIVER

static_assert(kDriverImages == 2);
const AnyFunction driver_wrappers[kDriverFunctions][kDriverImages] = {
#define DRIVER(symbol, effect, parameters, arguments) \
    {reinterpret_cast<AnyFunction>(&image_##symbol<0>), reinterpret_cast<AnyFunction>(&image_##symbol<1>)},
#include "shim/hooks/driver_functions.def"
#undef DRIVER
};

}  // namespace vramtrace::shim
