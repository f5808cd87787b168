// SPDX-License-Identifier: Apache-2.0
// Fills the device until an allocation fails, tries once more, gives some back and succeeds (a recovered failure), then
// fails for good and exits 3: oom [CHUNK_BYTES]
#include "tests/programs/expect.h"

#include <cuda_runtime_api.h>

#include <vector>

namespace {

__attribute__((noinline)) cudaError_t fill_device(size_t bytes, std::vector<void*>* chunks) {
    for (;;) {
        void* pointer = nullptr;
        const cudaError_t error = cudaMalloc(&pointer, bytes);
        if (error != cudaSuccess) return error;
        chunks->push_back(pointer);
    }
}

__attribute__((noinline)) cudaError_t ask_for_too_much(size_t bytes) {
    void* pointer = nullptr;
    return cudaMalloc(&pointer, bytes);
}

}  // namespace

int main(int argc, char** argv) {
    const size_t chunk = argc > 1 ? static_cast<size_t>(std::atoll(argv[1])) : size_t{256} << 20;
    std::vector<void*> chunks;
    MUST_HOLD(fill_device(chunk, &chunks) == cudaErrorMemoryAllocation);
    MUST_HOLD(cudaGetLastError() == cudaErrorMemoryAllocation);
    MUST_HOLD(cudaGetLastError() == cudaSuccess);
    MUST_HOLD(chunks.size() >= 2);
    std::printf("chunks %zu of %zu\n", chunks.size(), chunk);

    MUST_HOLD(ask_for_too_much(chunk) == cudaErrorMemoryAllocation);
    std::printf("failed cuMemAlloc_v2 %zu\n", chunk);
    MUST(cudaFree(chunks.back()));
    chunks.pop_back();
    MUST(cudaMalloc(&chunks.emplace_back(), chunk));
    std::printf("recovered\n");

    MUST_HOLD(ask_for_too_much(2 * chunk + 1) == cudaErrorMemoryAllocation);
    std::printf("failed cuMemAlloc_v2 %zu\n", 2 * chunk + 1);
    std::printf("out of memory: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 3;
}
