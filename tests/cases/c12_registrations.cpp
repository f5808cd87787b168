// SPDX-License-Identifier: Apache-2.0
// Registered memory that is unregistered by a wrong pointer and then unmapped: c12_registrations wrong | reused | control
// wrong: the addresses stay taken; reused: munmap gives them away, and later registrations of them are refused.
#include "tests/cases/case.h"

#include <sys/mman.h>

CASE_FUNCTION void register_window(bool right) {
    const size_t bytes = 32 * kMiB;
    void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST_HOLD(base != MAP_FAILED);
    MUST(cudaHostRegister(base, bytes, cudaHostRegisterDefault));
    if (right) {
        MUST(cudaHostUnregister(base));
    } else {
        MUST_HOLD(cudaHostUnregister(static_cast<char*>(base) + 4096) != cudaSuccess);
        (void)cudaGetLastError();
        MUST(mprotect(base, bytes, PROT_NONE));
    }
    if (right) MUST(munmap(base, bytes));
}

// The same with munmap, as the reports have it: the kernel gives the addresses to the next mapping.
CASE_FUNCTION void register_reused_window() {
    const size_t bytes = 32 * kMiB;
    void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST_HOLD(base != MAP_FAILED);
    const cudaError_t error = cudaHostRegister(base, bytes, cudaHostRegisterDefault);
    std::printf("register %d\n", static_cast<int>(error));
    (void)cudaGetLastError();
    MUST_HOLD(cudaHostUnregister(static_cast<char*>(base) + 4096) != cudaSuccess);
    (void)cudaGetLastError();
    MUST(munmap(base, bytes));
}

int main(int argc, char** argv) {
    for (int i = 0; i < 8; ++i) {
        if (is_part(argc, argv, "reused")) {
            register_reused_window();
        } else {
            register_window(is_part(argc, argv, "control"));
        }
    }
    return 0;
}
