// SPDX-License-Identifier: Apache-2.0
// Everybody initialises CUDA at once, and before main: c29_start early | control
// early: a global constructor, then 8 threads that find the driver's init in three ways beside the first runtime call.
#include "tests/cases/case.h"

#include <dlfcn.h>
#include <array>
#include <thread>
#include <vector>

namespace {

using Init = CUresult (*)(unsigned int);

bool wants_early_start() {
    char name[4096] = {};
    std::FILE* const file = std::fopen("/proc/self/cmdline", "r");
    const size_t bytes = std::fread(name, 1, sizeof name - 1, file);
    std::fclose(file);
    return std::string(name, bytes).find("early") != std::string::npos;
}

struct Early {
    Early() {
        if (wants_early_start()) MUST(cuInit(0));
    }
} early_;

Init find_init(int way) {
    if (way == 0) return reinterpret_cast<Init>(dlsym(RTLD_DEFAULT, "cuInit"));
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    MUST_HOLD(library != nullptr);
    if (way == 1) return reinterpret_cast<Init>(dlsym(library, "cuInit"));
    void* found = nullptr;
    CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    MUST(cuGetProcAddress("cuInit", &found, 2000, 0, &answer));
    return reinterpret_cast<Init>(found);
}

}  // namespace

CASE_FUNCTION void first_use() {
    MUST(cudaFree(device_memory(kMiB)));
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([i] {
            const Init init = find_init(i % 3);
            MUST_HOLD(init != nullptr);
            MUST(init(0));
        });
    }
    first_use();
    for (std::thread& thread : threads) thread.join();
    return 0;
}
