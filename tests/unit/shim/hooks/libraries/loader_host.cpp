// SPDX-License-Identifier: Apache-2.0
// Asks the loader in ways whose answers depend on who asks, and prints them: loader_host [PLUGIN]
// With a plugin, the plugin asks, from a scope of its own.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

extern "C" int cudaMalloc(void** address, size_t bytes);

namespace {

void tell(const char* what, void* found) {
    const char* error = dlerror();
    printf("%s %s", what, found != nullptr ? "found" : "null");
    // The path and a blank at the end may differ, the words may not.
    const char* words = error != nullptr ? strstr(error, "undefined symbol") : nullptr;
    printf(" %s\n", words != nullptr ? words : error != nullptr ? error : "-");
    printf("%s again %s\n", what, dlerror() != nullptr ? "error" : "-");
}

}  // namespace

extern "C" int own_symbol() {
    return 7;
}

extern "C" void ask() {
    tell("default own_symbol", dlsym(RTLD_DEFAULT, "own_symbol"));
    tell("default nobody", dlsym(RTLD_DEFAULT, "defined_by_nobody"));
    tell("default cuMemAlloc_v2", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
    tell("next cuMemCreate", dlsym(RTLD_NEXT, "cuMemCreate"));
    void* program = dlopen(nullptr, RTLD_NOW);
    tell("program cuMemFree_v2", dlsym(program, "cuMemFree_v2"));
    tell("program printf", dlsym(program, "printf"));
    tell("version memcpy", dlvsym(RTLD_DEFAULT, "memcpy", "GLIBC_2.14"));
    tell("version nobody", dlvsym(program, "cuMemFree_v2", "CUDA_99"));
    tell("open nothing", dlopen("libnothing-of-that-name.so.1", RTLD_NOW));
}

#ifndef PLUGIN
int main(int argc, char** argv) {
    printf("priority %d\n", getpriority(PRIO_PROCESS, 0));
    void* address = nullptr;
    const int result = cudaMalloc(&address, 64);
    printf("cudaMalloc %d %d\n", result, address == reinterpret_cast<void*>(64));
    if (argc < 2) {
        ask();
        return 0;
    }
    void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
        printf("%s\n", dlerror());
        return 1;
    }
    reinterpret_cast<void (*)()>(dlsym(plugin, "ask"))();
    return dlclose(plugin);
}
#endif
