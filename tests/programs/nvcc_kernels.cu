// SPDX-License-Identifier: Apache-2.0
// What only nvcc can make: registered kernels, device, constant and managed variables, triple-bracket launches.
// Built with shared and static runtime and for the per-thread default stream.
#include "tests/programs/through_runtime.h"

__device__ int counters[1000];
__constant__ float factors[16];
__managed__ int shared_number = 41;

__global__ void add(int* to, int from) {
    to[threadIdx.x] = counters[threadIdx.x] + from + static_cast<int>(factors[0]);
}

int main() {
    allocate_through_runtime(700000);

    int* numbers = nullptr;
    MUST(cudaMalloc(&numbers, 700101));
    expect("cuMemAlloc_v2", 700101, "cudaMalloc");
    add<<<4, 32>>>(numbers, 5);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());

    int written = 17;
    int read_back = 0;
    MUST(cudaMemcpyToSymbol(counters, &written, sizeof written, 4 * sizeof(int)));
    MUST(cudaMemcpyFromSymbol(&read_back, counters, sizeof read_back, 4 * sizeof(int)));
    MUST_HOLD(read_back == written);
    void* address = nullptr;
    size_t bytes = 0;
    MUST(cudaGetSymbolAddress(&address, counters));
    MUST(cudaGetSymbolSize(&bytes, counters));
    MUST_HOLD(address != nullptr && bytes == sizeof(int) * 1000);
    shared_number = shared_number + 1;
    cudaFuncAttributes attributes = {};
    MUST(cudaFuncGetAttributes(&attributes, add));
    MUST_HOLD(attributes.maxThreadsPerBlock > 0);

    MUST(cudaFree(numbers));
    return 0;
}
