// SPDX-License-Identifier: Apache-2.0
// A program that asks the runtime for driver functions, as PyTorch and NCCL do for the virtual memory functions.
// Built with shared and with static runtime.
#include "tests/programs/expect.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace {

template <typename Function>
Function by_version(const char* name, unsigned int version) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
    MUST(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &answer));
    MUST_HOLD(found != nullptr && answer == cudaDriverEntryPointSuccess);
    return reinterpret_cast<Function>(found);
}

}  // namespace

int main() {
    MUST(cudaFree(nullptr));  // makes a context
    auto alloc = by_version<CUresult (*)(CUdeviceptr*, size_t)>("cuMemAlloc", 3020);
    auto free_device = by_version<CUresult (*)(CUdeviceptr)>("cuMemFree", 3020);
    auto create =
        by_version<CUresult (*)(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long)>(
            "cuMemCreate", 10020);
    auto release = by_version<CUresult (*)(CUmemGenericAllocationHandle)>("cuMemRelease", 10020);
    auto granularity = by_version<CUresult (*)(size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags)>(
        "cuMemGetAllocationGranularity", 10020);

    // The older question, which means the version that the runtime itself was made for.
    void* found = nullptr;
    cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    MUST(cudaGetDriverEntryPoint("cuMemAllocManaged", &found, cudaEnableDefault, &answer));
#pragma GCC diagnostic pop
    auto managed = reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t, unsigned int)>(found);
    MUST_HOLD(managed != nullptr && answer == cudaDriverEntryPointSuccess);

    CUdeviceptr first = 0;
    MUST(alloc(&first, 70001));
    expect("cuMemAlloc_v2", 70001);
    CUdeviceptr leaked = 0;
    MUST(alloc(&leaked, 70003));
    expect("cuMemAlloc_v2", 70003);
    CUdeviceptr unified = 0;
    MUST(managed(&unified, 70005, CU_MEM_ATTACH_GLOBAL));
    expect("cuMemAllocManaged", 70005);

    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t unit = 0;
    MUST(granularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUmemGenericAllocationHandle handle = 0;
    MUST(create(&handle, 3 * unit, &properties, 0));
    expect("cuMemCreate", 3 * unit);

    MUST(release(handle));
    MUST(free_device(unified));
    MUST(free_device(first));
    kept("cuMemAlloc_v2", 70003);
    return 0;
}
