// SPDX-License-Identifier: Apache-2.0
// Allocates GPU memory if it has an argument, and frees it if that is 0.
#include <dlfcn.h>
#include <stddef.h>

int main(int count, char** words) {
    if (count < 2) return 0;
    void* runtime = dlopen("libcudart.so.13", RTLD_NOW);
    if (runtime == NULL) return 1;
    int (*allocate)(void**, size_t) = (int (*)(void**, size_t))dlsym(runtime, "cudaMalloc");
    int (*release)(void*) = (int (*)(void*))dlsym(runtime, "cudaFree");
    void* memory = NULL;
    if (allocate == NULL || release == NULL || allocate(&memory, 5000) != 0) return 1;
    return words[1][0] == '0' ? release(memory) : 0;
}
