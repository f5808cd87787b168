// SPDX-License-Identifier: Apache-2.0
// One program before and after a fix (AFTER_FIX), for `vramtrace diff`: the leak of every step is closed, the scratch
// halved, one call site is new and one gone. The fix also moves every line.
#include <cuda_runtime_api.h>

#include "expect.h"

namespace {

constexpr size_t KiB = 1 << 10;

void* buffer(size_t bytes) {
    void* address = nullptr;
    MUST(cudaMalloc(&address, bytes));
    return address;
}

void give_back(void* address) {
    MUST(cudaFree(address));
}

}  // namespace

#ifdef AFTER_FIX
#line 5000 "before_and_after.cpp"
#else
#line 1000 "before_and_after.cpp"
#endif

__attribute__((noinline)) void* load_model() {
    void* model = buffer(4096 * KiB);
    MUST_HOLD(model != nullptr);
    return model;
}

__attribute__((noinline)) void* forward_pass() {
    void* activations = buffer(300 * KiB);
    MUST_HOLD(activations != nullptr);
    return activations;
}

__attribute__((noinline)) void backward_pass(size_t bytes) {
    void* scratch = buffer(bytes);
    MUST_HOLD(scratch != nullptr);
    give_back(scratch);
}

#ifdef AFTER_FIX
__attribute__((noinline)) void fill_cache() {
    MUST_HOLD(buffer(50 * KiB) != nullptr);
}
#else
__attribute__((noinline)) void debug_copy() {
    MUST_HOLD(buffer(70 * KiB) != nullptr);
}
#endif

int main() {
    void* model = load_model();
    for (int step = 0; step < 10; ++step) {
        void* activations = forward_pass();
#ifdef AFTER_FIX
        backward_pass(1024 * KiB);
        give_back(activations);
#else
        backward_pass(2048 * KiB);
        MUST_HOLD(activations != nullptr);
#endif
    }
#ifdef AFTER_FIX
    fill_cache();
#else
    debug_copy();
#endif
    give_back(model);
    return 0;
}
