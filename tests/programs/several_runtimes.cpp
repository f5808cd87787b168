// SPDX-License-Identifier: Apache-2.0
// Four runtimes in one process: the program's own (shared, CUDA 13), a plugin's of CUDA 12, a plugin's static one, and
// a plugin that calls the driver directly. They share the device's primary context.
#include "tests/programs/through_runtime.h"

#include <dlfcn.h>
#include <unistd.h>
#include <string>

int main() {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    MUST_HOLD(length > 0 && length < static_cast<ssize_t>(sizeof path));
    std::string folder(path, static_cast<size_t>(length));
    folder.resize(folder.rfind('/') + 1);

    allocate_through_runtime(200000);
    size_t base = 210000;
    for (const char* name : {"plugin_cudart12.so", "plugin_static.so", "plugin_driver.so"}) {
        void* plugin = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) fail(dlerror(), 0);
        auto run = reinterpret_cast<int (*)(size_t)>(dlsym(plugin, "plugin_run"));
        MUST_HOLD(run != nullptr);
        MUST(run(base));
        base += 10000;
    }
    int version = 0;
    MUST(cudaRuntimeGetVersion(&version));
    MUST_HOLD(version / 1000 == 13);
    return 0;
}
