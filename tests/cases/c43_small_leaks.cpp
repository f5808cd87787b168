// SPDX-License-Identifier: Apache-2.0
// A test program that passes and leaks a little of each kind: c43_small_leaks leaking | control
#include "tests/cases/case.h"

namespace {

bool leaking_ = true;

}  // namespace

CASE_FUNCTION void test_runtime_767() {
    void* const leak = device_memory(767);
    MUST(cudaFree(device_memory(767)));
    if (!leaking_) MUST(cudaFree(leak));
}

CASE_FUNCTION void test_runtime_512() {
    void* const leak = device_memory(512);
    MUST(cudaFree(device_memory(512)));
    if (!leaking_) MUST(cudaFree(leak));
}

CASE_FUNCTION void test_driver_4() {
    CUdeviceptr leak = 0;
    CUdeviceptr right = 0;
    MUST(cuMemAlloc(&leak, 4));
    MUST(cuMemAlloc(&right, 4));
    MUST(cuMemFree(right));
    if (!leaking_) MUST(cuMemFree(leak));
}

CASE_FUNCTION void test_async_2097152() {
    void* leak = nullptr;
    void* right = nullptr;
    MUST(cudaMallocAsync(&leak, 2 * kMiB, nullptr));
    MUST(cudaMallocAsync(&right, 2 * kMiB, nullptr));
    MUST(cudaFreeAsync(right, nullptr));
    if (!leaking_) MUST(cudaFreeAsync(leak, nullptr));
}

CASE_FUNCTION void test_pinned_4() {
    void* leak = nullptr;
    void* right = nullptr;
    MUST(cudaMallocHost(&leak, 4));
    MUST(cudaMallocHost(&right, 4));
    MUST(cudaFreeHost(right));
    if (!leaking_) MUST(cudaFreeHost(leak));
}

int main(int argc, char** argv) {
    leaking_ = !is_part(argc, argv, "control");
    test_runtime_767();
    test_runtime_512();
    test_driver_4();
    test_async_2097152();
    test_pinned_4();
    MUST(cudaDeviceSynchronize());
    return 0;
}
