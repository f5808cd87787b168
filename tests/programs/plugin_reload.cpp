// SPDX-License-Identifier: Apache-2.0
// Loads and unloads two plugins in turn, at reused addresses, allocating from inside each: plugin_reload [ROUNDS]
// Prints per round the function that was on the stack, and at the end how often an address was reused:
//   by FUNCTION BYTES
//   reused N of M
#include "tests/programs/expect.h"

#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <unistd.h>
#include <set>
#include <string>

namespace {

int allocate(size_t bytes) {
    void* pointer = nullptr;
    MUST(cudaMalloc(&pointer, bytes));
    expect("cuMemAlloc_v2", bytes, "cudaMalloc");
    kept("cuMemAlloc_v2", bytes);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 6;
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    MUST_HOLD(length > 0 && length < static_cast<ssize_t>(sizeof path));
    std::string folder(path, static_cast<size_t>(length));
    folder.resize(folder.rfind('/') + 1);
    MUST(cudaFree(nullptr));

    std::set<void*> seen;
    int reused = 0;
    for (int round = 0; round < rounds; ++round) {
        const bool odd = round % 2 != 0;
        const std::string file = folder + (odd ? "reload_second.so" : "reload_first.so");
        void* plugin = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) fail(dlerror(), 0);
        auto entry = reinterpret_cast<int (*)(int (*)(size_t))>(dlsym(plugin, "plugin_entry"));
        MUST_HOLD(entry != nullptr);
        reused += seen.insert(reinterpret_cast<void*>(entry)).second ? 0 : 1;
        MUST_HOLD(entry(allocate) == 2);
        std::printf("by %s %d\n", odd ? "second_allocates" : "first_allocates", odd ? 500003 : 500001);
        MUST(dlclose(plugin));
    }
    std::printf("reused %d of %d\n", reused, rounds);
    return 0;
}
