// SPDX-License-Identifier: Apache-2.0
// Failing calls, null arguments and odd sizes around one good pair of 64 MiB: c33_failed_calls mixed | control
#include "tests/cases/case.h"

CASE_FUNCTION void wrong_calls() {
    CUdeviceptr memory = 0;
    size_t bytes = 0;
    MUST_HOLD(cuMemFree(0xdead0000) != CUDA_SUCCESS);
    MUST(cuMemFree(0));
    MUST_HOLD(cuMemAlloc(&memory, size_t{1} << 50) != CUDA_SUCCESS);
    MUST_HOLD(cuMemAlloc(&memory, 0) != CUDA_SUCCESS);
    MUST_HOLD(cuMemAlloc(nullptr, kMiB) != CUDA_SUCCESS);
    (void)cuMemGetInfo(nullptr, &bytes);
    (void)cuMemGetInfo(&bytes, nullptr);
}

CASE_FUNCTION void good_pair(bool twice) {
    CUdeviceptr memory = 0;
    MUST(cuMemAlloc(&memory, 64 * kMiB));
    MUST(cuMemFree(memory));
    if (twice) MUST_HOLD(cuMemFree(memory) != CUDA_SUCCESS);
}

CASE_FUNCTION void free_on_destroyed_stream() {
    CUstream stream = nullptr;
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr memory = 0;
    MUST(cuMemAllocAsync(&memory, kMiB, stream));
    MUST(cuStreamSynchronize(stream));
    MUST(cuStreamDestroy(stream));
    MUST_HOLD(cuMemFreeAsync(memory, stream) != CUDA_SUCCESS);
    MUST(cuMemFree(memory));
}

int main(int argc, char** argv) {
    const bool mixed = !is_part(argc, argv, "control");
    current_primary_context();
    if (mixed) wrong_calls();
    good_pair(mixed);
    if (mixed) free_on_destroyed_stream();
    return 0;
}
