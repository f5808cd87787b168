// SPDX-License-Identifier: Apache-2.0
// A program without CUDA that would use it if it were there: weak references. Alone they are null. With somebody's
// exported wrappers in the process they are not, and a call must then answer an error instead of crashing.
#include "tests/programs/expect.h"

extern "C" {
__attribute__((weak)) int cudaMalloc(void**, size_t);
__attribute__((weak)) int cudaFree(void*);
__attribute__((weak)) int cuInit(unsigned int);
__attribute__((weak)) int cuMemAlloc_v2(unsigned long long*, size_t);
__attribute__((weak)) int cuMemFree_v2(unsigned long long);
}

namespace {

void tell(const char* name, bool present, int code) {
    if (!present) {
        std::printf("weak %s null\n", name);
    } else {
        std::printf("weak %s answers %d\n", name, code);
        if (code == 0) fail(name, 0);  // nothing can have succeeded: there is no CUDA here
    }
}

}  // namespace

int main() {
    void* pointer = nullptr;
    unsigned long long device_pointer = 0;
    tell("cudaMalloc", cudaMalloc != nullptr, cudaMalloc != nullptr ? cudaMalloc(&pointer, 64) : 0);
    tell("cudaFree", cudaFree != nullptr, cudaFree != nullptr ? cudaFree(reinterpret_cast<void*>(64)) : 0);
    tell("cuInit", cuInit != nullptr, cuInit != nullptr ? cuInit(0) : 0);
    tell("cuMemAlloc_v2", cuMemAlloc_v2 != nullptr, cuMemAlloc_v2 != nullptr ? cuMemAlloc_v2(&device_pointer, 64) : 0);
    tell("cuMemFree_v2", cuMemFree_v2 != nullptr, cuMemFree_v2 != nullptr ? cuMemFree_v2(64) : 0);
    MUST_HOLD(pointer == nullptr && device_pointer == 0);
    return 0;
}
