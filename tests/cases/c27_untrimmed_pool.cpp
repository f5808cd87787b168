// SPDX-License-Identifier: Apache-2.0
// An allocation fails while a pool keeps what was freed: c27_untrimmed_pool untrimmed | control
// The default pool never releases; mixed sizes up to 80 % of the device are freed behind running work; then half the
// device is asked of a second pool on another stream. If that is refused: synchronise, trim, ask again.
// control: everything is synchronised and trimmed before the second pool is asked.
#include "tests/cases/case.h"

#include <vector>

namespace {

std::vector<void*> blocks_;

cudaMemPool_t second_pool() {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    MUST(cudaMemPoolCreate(&pool, &properties));
    return pool;
}

}  // namespace

CASE_FUNCTION void fill_first_pool(size_t bytes, cudaStream_t stream) {
    constexpr size_t kPieces = 100;
    for (size_t i = 0; i < kPieces; ++i) {
        const size_t piece = bytes / kPieces * (i % 2 == 0 ? 3 : 1) / 2 / kMiB * kMiB;
        MUST(cudaMallocAsync(&blocks_.emplace_back(), piece, stream));
    }
}

CASE_FUNCTION cudaError_t ask_second_pool(void** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    return cudaMallocFromPoolAsync(memory, bytes, pool, stream);
}

int main(int argc, char** argv) {
    const bool trim_first = is_part(argc, argv, "control");
    size_t free_bytes = 0;
    size_t total = 0;
    MUST(cudaMemGetInfo(&free_bytes, &total));
    cudaStream_t one = nullptr;
    cudaStream_t two = nullptr;
    MUST(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    cudaMemPool_t first = nullptr;
    MUST(cudaDeviceGetDefaultMemPool(&first, 0));
    uint64_t never = ~uint64_t{0};
    MUST(cudaMemPoolSetAttribute(first, cudaMemPoolAttrReleaseThreshold, &never));
    const cudaMemPool_t second = second_pool();

    fill_first_pool(total / 5 * 4 < free_bytes ? total / 5 * 4 : free_bytes / 10 * 9, one);
    MUST(cudaMemsetAsync(blocks_.front(), 1, 16 * kMiB, one));
    for (void* block : blocks_) MUST(cudaFreeAsync(block, one));
    const auto trim = [&] {
        MUST(cudaStreamSynchronize(one));
        MUST(cudaMemPoolTrimTo(first, 0));
    };
    if (trim_first) trim();
    void* memory = nullptr;
    cudaError_t error = ask_second_pool(&memory, total / 2, second, two);
    std::printf("first answer %d for %zu\n", static_cast<int>(error), total / 2);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        trim();
        error = ask_second_pool(&memory, total / 2, second, two);
        std::printf("second answer %d\n", static_cast<int>(error));
    }
    MUST(error);
    MUST(cudaFreeAsync(memory, two));
    MUST(cudaStreamSynchronize(two));
    MUST(cudaMemPoolDestroy(second));
    MUST(cudaStreamDestroy(one));
    MUST(cudaStreamDestroy(two));
    return 0;
}
