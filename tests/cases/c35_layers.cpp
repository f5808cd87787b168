// SPDX-License-Identifier: Apache-2.0
// Runtime and driver calls in one program, built with the shared and with a static runtime: c35_layers | control
// 10 x 64 MiB, 5 x 32 MiB, 4 x 16 MiB; all freed but one of each (control: all).
#include "tests/cases/case.h"

#include <vector>

CASE_FUNCTION void* by_runtime() {
    return device_memory(64 * kMiB);
}

CASE_FUNCTION CUdeviceptr by_driver() {
    CUdeviceptr memory = 0;
    MUST(cuMemAlloc(&memory, 32 * kMiB));
    return memory;
}

CASE_FUNCTION void* by_stream() {
    void* memory = nullptr;
    MUST(cudaMallocAsync(&memory, 16 * kMiB, nullptr));
    return memory;
}

int main(int argc, char** argv) {
    const size_t kept = is_part(argc, argv, "control") ? 0 : 1;
    std::vector<void*> plain;
    std::vector<CUdeviceptr> driver;
    std::vector<void*> ordered;
    for (int i = 0; i < 10; ++i) plain.push_back(by_runtime());
    for (int i = 0; i < 5; ++i) driver.push_back(by_driver());
    for (int i = 0; i < 4; ++i) ordered.push_back(by_stream());
    for (size_t i = kept; i < plain.size(); ++i) MUST(cudaFree(plain[i]));
    for (size_t i = kept; i < driver.size(); ++i) MUST(cuMemFree(driver[i]));
    for (size_t i = kept; i < ordered.size(); ++i) MUST(cudaFreeAsync(ordered[i], nullptr));
    MUST(cudaDeviceSynchronize());
    return 0;
}
