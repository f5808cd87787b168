// SPDX-License-Identifier: Apache-2.0
// A pool of the process outlives the models: c16_global_pool kept | control
// 32 GiB of addresses, 2 MiB granules mapped up to 64 MiB; two rounds of load and unload of 1 GiB.
#include "tests/cases/case.h"

#include <chrono>
#include <thread>
#include <vector>

namespace {

constexpr size_t kReserved = 32 * kGiB;
constexpr size_t kGranule = 2 * kMiB;
CUdeviceptr base_ = 0;
size_t mapped_ = 0;
std::vector<CUmemGenericAllocationHandle> granules_;

}  // namespace

CASE_FUNCTION void pool_grow(size_t bytes) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    if (base_ == 0) MUST(cuMemAddressReserve(&base_, kReserved, 0, 0, 0));
    for (; mapped_ < bytes; mapped_ += kGranule) {
        CUmemGenericAllocationHandle handle = 0;
        MUST(cuMemCreate(&handle, kGranule, &properties, 0));
        MUST(cuMemMap(base_ + mapped_, kGranule, 0, handle, 0));
        CUmemAccessDesc access = {};
        access.location = properties.location;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        MUST(cuMemSetAccess(base_ + mapped_, kGranule, &access, 1));
        granules_.push_back(handle);
    }
}

CASE_FUNCTION CUdeviceptr load_model() {
    CUdeviceptr weights = 0;
    MUST(cuMemAlloc(&weights, kGiB));
    pool_grow(64 * kMiB);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // reading and copying the weights
    return weights;
}

int main(int argc, char** argv) {
    current_primary_context();
    for (int round = 0; round < 2; ++round) MUST(cuMemFree(load_model()));
    if (is_part(argc, argv, "control")) {
        MUST(cuMemUnmap(base_, mapped_));
        for (const CUmemGenericAllocationHandle handle : granules_) MUST(cuMemRelease(handle));
        MUST(cuMemAddressFree(base_, kReserved));
    }
    return 0;
}
