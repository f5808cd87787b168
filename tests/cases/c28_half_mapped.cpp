// SPDX-License-Identifier: Apache-2.0
// A mapping that fails half way is left as it is: c28_half_mapped left | control
// Four granules are mapped, the fifth's access is refused; then the whole range is freed, the answer ignored.
#include "tests/cases/case.h"

#include <vector>

namespace {

constexpr size_t kGranule = 2 * kMiB;
constexpr size_t kReserved = kGiB;
std::vector<CUmemGenericAllocationHandle> handles_;

}  // namespace

CASE_FUNCTION void map_granule(CUdeviceptr base, bool valid) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    const CUdeviceptr at = base + handles_.size() * kGranule;
    MUST(cuMemCreate(&handles_.emplace_back(), kGranule, &properties, 0));
    MUST(cuMemMap(at, kGranule, 0, handles_.back(), 0));
    CUmemAccessDesc access = {};
    access.location = properties.location;
    access.location.id = valid ? 0 : 1000;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const CUresult result = cuMemSetAccess(at, kGranule, &access, 1);
    MUST_HOLD((result == CUDA_SUCCESS) == valid);
}

CASE_FUNCTION CUresult give_up_range(CUdeviceptr base) {
    return cuMemAddressFree(base, kReserved);
}

int main(int argc, char** argv) {
    const bool control = is_part(argc, argv, "control");
    current_primary_context();
    CUdeviceptr base = 0;
    MUST(cuMemAddressReserve(&base, kReserved, 0, 0, 0));
    for (int i = 0; i < 5; ++i) map_granule(base, i < 4 || control);
    if (control) {
        MUST(cuMemUnmap(base, handles_.size() * kGranule));
        for (const CUmemGenericAllocationHandle handle : handles_) MUST(cuMemRelease(handle));
    }
    std::printf("address free %d\n", static_cast<int>(give_up_range(base)));
    return 0;
}
