// SPDX-License-Identifier: Apache-2.0
// Two sections of known peak, freed behind work of random length: c45_peaks SEED | larger SEED
// Peaks in program order are 256 and 192 MiB whatever the device has reached; larger: the second needs 2 % more than 256.
#include "tests/cases/case.h"

#include <random>
#include <thread>

CASE_FUNCTION void section(cudaStream_t stream, size_t bytes, std::mt19937& random) {
    void* first = nullptr;
    void* second = nullptr;
    MUST(cudaMallocAsync(&first, bytes / 2, stream));
    MUST(cudaMallocAsync(&second, bytes - bytes / 2, stream));
    for (unsigned i = random() % 8; i > 0; --i) MUST(cudaMemsetAsync(first, 1, bytes / 2, stream));
    MUST(cudaFreeAsync(first, stream));
    if (random() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
    MUST(cudaFreeAsync(second, stream));
}

CASE_FUNCTION void first_section(cudaStream_t stream, std::mt19937& random) {
    section(stream, 256 * kMiB, random);
}

CASE_FUNCTION void second_section(cudaStream_t stream, size_t bytes, std::mt19937& random) {
    section(stream, bytes, random);
}

int main(int argc, char** argv) {
    const bool larger = is_part(argc, argv, "larger");
    std::mt19937 random(static_cast<unsigned>(argc > 1 ? std::atoi(argv[argc - 1]) : 0));
    cudaStream_t stream = nullptr;
    MUST(cudaStreamCreate(&stream));
    first_section(stream, random);
    second_section(stream, (larger ? 261 : 192) * kMiB, random);
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaStreamDestroy(stream));
    return 0;
}
