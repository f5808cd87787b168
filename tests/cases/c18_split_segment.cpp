// SPDX-License-Identifier: Apache-2.0
// Small blocks that stay split a big cached segment: c18_split_segment split | control
// On a device of 12 GiB. The second request of 8 GiB fails in the cache, then in the driver. control: the small blocks
// are freed before.
#include "tests/cases/segment_cache.h"

CASE_FUNCTION void* big_tensor(SegmentCache& cache) {
    return cache.allocate(8 * kGiB);
}

CASE_FUNCTION void* small_tensor(SegmentCache& cache) {
    return cache.allocate(16 * kMiB);
}

CASE_FUNCTION cudaError_t grow_segments(void** memory) {
    return cudaMalloc(memory, 8 * kGiB);
}

int main(int argc, char** argv) {
    SegmentCache cache(8 * kGiB);
    cache.free(big_tensor(cache));
    std::vector<void*> small;
    for (int i = 0; i < 40; ++i) small.push_back(small_tensor(cache));
    if (is_part(argc, argv, "control")) {
        for (void* block : small) cache.free(block);
        small.clear();
    }
    try {
        cache.free(big_tensor(cache));
        std::printf("the cache had it\n");
    } catch (const std::bad_alloc&) {
        void* memory = nullptr;
        std::printf("released %zu\n", cache.release_free_segments());
        const cudaError_t error = grow_segments(&memory);
        std::printf("the driver said %d, reserved %zu\n", static_cast<int>(error), cache.reserved());
        return error == cudaSuccess ? 0 : 3;
    }
    MUST_HOLD(cache.release_free_segments() == 8 * kGiB);
    return 0;
}
