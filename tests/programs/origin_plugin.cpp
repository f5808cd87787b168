// SPDX-License-Identifier: Apache-2.0
// A plugin whose RUNPATH is $ORIGIN/origin_parts: it opens its part by bare name, which works only when the loader
// still sees this library as the caller of dlopen.
#include "tests/programs/expect.h"

#include <dlfcn.h>

extern "C" int plugin_run(size_t base) {
    void* part = dlopen("liborigin_part.so", RTLD_NOW);
    if (part == nullptr) fail(dlerror(), 0);
    auto run = reinterpret_cast<int (*)(size_t)>(dlsym(part, "plugin_run"));
    MUST_HOLD(run != nullptr);
    return run(base);
}
