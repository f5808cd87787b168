// SPDX-License-Identifier: Apache-2.0
// Pinned requests rounded up to a power of two: c24_pinned_rounding rounded | control
#include "tests/cases/case.h"

namespace {

size_t power_of_two_above(size_t bytes) {
    size_t result = 1;
    while (result < bytes) result *= 2;
    return result;
}

}  // namespace

CASE_FUNCTION void* pinned_tensor(size_t bytes) {
    void* memory = nullptr;
    MUST(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault));
    return memory;
}

int main(int argc, char** argv) {
    const size_t bytes = 129 * kMiB + kMiB / 2;
    const bool round = !is_part(argc, argv, "control");
    for (int i = 0; i < 8; ++i) (void)pinned_tensor(round ? power_of_two_above(bytes) : bytes);
    return 0;
}
