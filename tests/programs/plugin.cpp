// SPDX-License-Identifier: Apache-2.0
// A plugin that brings its own CUDA runtime: built with the shared runtimes of CUDA 13 and 12, with a static one, and
// linked to the driver directly. The host program knows only plugin_run().
#ifdef PLUGIN_USES_DRIVER
#include "tests/programs/through_driver.h"

extern "C" int plugin_run(size_t base) {
    MUST(cuInit(0));
    CUdevice device = 0;
    CUcontext context = nullptr;
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    CUdeviceptr first = 0;
    MUST(cuMemAlloc(&first, base + 1));
    expect("cuMemAlloc_v2", base + 1);
    CUdeviceptr leaked = 0;
    MUST(cuMemAlloc(&leaked, base + 3));
    expect("cuMemAlloc_v2", base + 3);
    MUST(cuMemFree(first));
    kept("cuMemAlloc_v2", base + 3);
    return 0;
}
#else
#include "tests/programs/through_runtime.h"

#include <dlfcn.h>

extern "C" {
int plugin_own_symbol = 7;
}

extern "C" int plugin_run(size_t base) {
    // A library loaded RTLD_LOCAL finds its own names through RTLD_DEFAULT: dlsym must still know who asks.
    MUST_HOLD(dlsym(RTLD_DEFAULT, "plugin_own_symbol") == &plugin_own_symbol);
    allocate_through_runtime(base);
    return 0;
}
#endif
