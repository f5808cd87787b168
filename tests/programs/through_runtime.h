// SPDX-License-Identifier: Apache-2.0
// The allocations of a program that uses the CUDA runtime. `base` makes the sizes of one route differ from another's.
#pragma once

#include "tests/programs/expect.h"

#include <cuda_runtime_api.h>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define ASYNC_NAME(name) name "_ptsz"
#else
#define ASYNC_NAME(name) name
#endif

inline void allocate_through_runtime(size_t base) {
    void* device = nullptr;
    MUST(cudaMalloc(&device, base + 1));
    expect("cuMemAlloc_v2", base + 1, "cudaMalloc");

    void* leaked = nullptr;
    MUST(cudaMalloc(&leaked, base + 3));
    expect("cuMemAlloc_v2", base + 3, "cudaMalloc");

    void* managed = nullptr;
    MUST(cudaMallocManaged(&managed, base + 5, cudaMemAttachGlobal));
    expect("cuMemAllocManaged", base + 5, "cudaMallocManaged");

    void* host = nullptr;
    MUST(cudaMallocHost(&host, base + 7));
    expect("cuMemHostAlloc", base + 7, "cudaMallocHost");

    void* pitched = nullptr;
    size_t pitch = 0;
    const size_t rows = 3;
    MUST(cudaMallocPitch(&pitched, &pitch, base + 9, rows));
    MUST_HOLD(pitch >= base + 9);
    expect("cuMemAllocPitch_v2", pitch * rows, "cudaMallocPitch");

    void* ordered = nullptr;
    MUST(cudaMallocAsync(&ordered, base + 11, nullptr));
    expect(ASYNC_NAME("cuMemAllocAsync"), base + 11, ASYNC_NAME("cudaMallocAsync"));

    MUST(cudaMemset(device, 0x5a, base + 1));
    unsigned char last = 0;
    MUST(cudaMemcpy(&last, static_cast<unsigned char*>(device) + base, 1, cudaMemcpyDeviceToHost));
    MUST_HOLD(last == 0x5a);

    MUST(cudaFreeAsync(ordered, nullptr));
    MUST(cudaStreamSynchronize(nullptr));
    MUST(cudaFree(pitched));
    MUST(cudaFreeHost(host));
    MUST(cudaFree(managed));
    MUST(cudaFree(device));
    kept("cuMemAlloc_v2", base + 3);
}
