// SPDX-License-Identifier: Apache-2.0
// What a program sees on a machine without a driver: error 35 from every call, no crash, and dlopen's own message.
// Built with the static runtime, so that an empty library path is enough to have no driver.
#include "tests/programs/expect.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

int main() {
    void* pointer = reinterpret_cast<void*>(1);
    int count = -1;
    int version = -1;
    std::printf("cudaGetDeviceCount %d\n", cudaGetDeviceCount(&count));
    std::printf("cudaMalloc %d\n", cudaMalloc(&pointer, 4096));
    std::printf("cudaMallocHost %d\n", cudaMallocHost(&pointer, 4096));
    std::printf("cudaMallocAsync %d\n", cudaMallocAsync(&pointer, 4096, nullptr));
    std::printf("cudaFree %d\n", cudaFree(nullptr));
    std::printf("cudaGetLastError %d\n", cudaGetLastError());
    std::printf("cudaGetLastError %d\n", cudaGetLastError());
    const int code = cudaDriverGetVersion(&version);
    std::printf("cudaDriverGetVersion %d %d\n", code, version);
    std::printf("text %s\n", cudaGetErrorString(cudaErrorInsufficientDriver));
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    std::printf("dlopen %s\n", driver == nullptr ? dlerror() : "found");
    void* probe = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    std::printf("noload %s\n", probe == nullptr ? "null" : "found");
    return 0;
}
