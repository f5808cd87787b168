// SPDX-License-Identifier: Apache-2.0
// Another preload, to stand before or behind ours: forwards malloc-free library calls and the runtime's allocation
// with RTLD_NEXT, as such libraries do, and says at exit how often it was passed.
#include <dlfcn.h>
#include <unistd.h>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {
std::atomic<long> allocations_{0};
std::atomic<long> priorities_{0};
}  // namespace

extern "C" int cudaMalloc(void** pointer, size_t size) {
    using Function = int (*)(void**, size_t);
    static Function next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "cudaMalloc"));
    ++allocations_;
    // A program whose runtime is not in the global scope has no next one; then this library has no business here.
    return next != nullptr ? next(pointer, size) : 999;
}

extern "C" int getpriority(int which, unsigned int who) noexcept {
    using Function = int (*)(int, unsigned int);
    static Function next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getpriority"));
    ++priorities_;
    return next(which, who);
}

__attribute__((destructor)) static void tell() {
    std::printf("neighbour cudaMalloc %ld getpriority %ld\n", allocations_.load(), priorities_.load());
    std::fflush(stdout);
}
