// SPDX-License-Identifier: Apache-2.0
// What ends memory and what does not, asked of a real driver: prints one line a question, device bytes by cuMemGetInfo.
//   nvcc -o lifetimes tests/gpu/lifetimes.cu -lcuda && ./lifetimes
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define MUST(call)                                                                    \
    do {                                                                              \
        const auto result_ = (call);                                                  \
        if (result_ != 0) {                                                           \
            std::printf("%s:%d: %s = %d\n", __FILE__, __LINE__, #call, int(result_)); \
            std::exit(1);                                                             \
        }                                                                             \
    } while (false)

constexpr size_t kMiB = 1 << 20, kBytes = 64 * kMiB;

long used_mib() {
    size_t free_bytes = 0, total = 0;
    MUST(cudaMemGetInfo(&free_bytes, &total));
    return static_cast<long>((total - free_bytes) / kMiB);
}

uint64_t graph_memory(cudaGraphMemAttributeType which) {
    uint64_t value = 0;
    MUST(cudaDeviceGetGraphMemAttribute(0, which, &value));
    return value / kMiB;
}

void say(const char* what, long before) {
    std::printf("%-64s %+6ld MiB; graph memory used %lu reserved %lu MiB\n", what, used_mib() - before,
                static_cast<unsigned long>(graph_memory(cudaGraphMemAttrUsedMemCurrent)),
                static_cast<unsigned long>(graph_memory(cudaGraphMemAttrReservedMemCurrent)));
}

void graph_cycle(int cycle) {
    cudaStream_t stream;
    MUST(cudaStreamCreate(&stream));
    const long before = used_mib();
    void* p = nullptr;
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    MUST(cudaMallocAsync(&p, kBytes, stream));
    MUST(cudaMemsetAsync(p, 0, kBytes, stream));
    cudaGraph_t graph;
    MUST(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    MUST(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaStreamSynchronize(stream));
    std::printf("cycle %d\n", cycle);
    say("  after launch 1", before);
    MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaStreamSynchronize(stream));
    say("  after launch 2", before);
    MUST(cudaGraphExecDestroy(exec));
    say("  after exec destroy", before);
    MUST(cudaGraphDestroy(graph));
    say("  after graph destroy", before);
    MUST(cudaDeviceGraphMemTrim(0));
    say("  after trim", before);
    if (cycle == 2) {
        std::printf("  cudaFree of the graph's address says %d\n", int(cudaFree(p)));
        MUST(cudaDeviceGraphMemTrim(0));
        say("  after that and a trim", before);
    }
    MUST(cudaStreamDestroy(stream));
}

int main() {
    MUST(cudaFree(nullptr));
    for (int cycle = 0; cycle < 3; ++cycle) graph_cycle(cycle);

    // The primary context's reset: which memory outlives it?
    CUdevice device;
    MUST(cuDeviceGet(&device, 0));
    const long start = used_mib();
    void *plain = nullptr, *pooled = nullptr, *own_pooled = nullptr;
    MUST(cudaMalloc(&plain, kBytes));
    say("cudaMalloc 64", start);
    MUST(cudaMallocAsync(&pooled, kBytes, nullptr));
    MUST(cudaStreamSynchronize(nullptr));
    say("+ cudaMallocAsync 64 (default pool)", start);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    cudaMemPool_t pool;
    MUST(cudaMemPoolCreate(&pool, &properties));
    MUST(cudaMallocFromPoolAsync(&own_pooled, kBytes, pool, nullptr));
    MUST(cudaStreamSynchronize(nullptr));
    say("+ cudaMallocFromPoolAsync 64 (own pool)", start);
    CUmemAllocationProp physical = {};
    physical.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    physical.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr range;
    MUST(cuMemCreate(&handle, kBytes, &physical, 0));
    MUST(cuMemAddressReserve(&range, kBytes, 0, 0, 0));
    MUST(cuMemMap(range, kBytes, 0, handle, 0));
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    MUST(cuMemSetAccess(range, kBytes, &access, 1));
    say("+ cuMemCreate, mapped, 64", start);
    const long full = used_mib();
    MUST(cudaDeviceReset());
    MUST(cudaFree(nullptr));
    std::printf("after cudaDeviceReset and a new context: %+ld MiB against before it, %+ld against the start\n",
                used_mib() - full, used_mib() - start);
    std::printf("  cudaFree(plain) %d, cudaFreeAsync(default pool) %d, cudaFreeAsync(own pool) %d\n",
                int(cudaFree(plain)), int(cudaFreeAsync(pooled, nullptr)), int(cudaFreeAsync(own_pooled, nullptr)));
    cudaGetLastError();
    std::printf("  cudaMemPoolDestroy(own) %d\n", int(cudaMemPoolDestroy(pool)));
    std::printf("  cuMemUnmap %d, cuMemRelease %d, cuMemAddressFree %d\n", int(cuMemUnmap(range, kBytes)),
                int(cuMemRelease(handle)), int(cuMemAddressFree(range, kBytes)));
    MUST(cudaDeviceSynchronize());
    std::printf("in the end: %+ld MiB against the start\n", used_mib() - start);
}
