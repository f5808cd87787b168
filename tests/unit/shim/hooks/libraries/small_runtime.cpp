// SPDX-License-Identifier: Apache-2.0
// A library with names of the runtime in it.
#include <cstddef>
#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE int cudaMalloc(void** address, size_t bytes) {
    if (bytes > 1000000) return 2;
    *address = reinterpret_cast<void*>(bytes);
    return 0;
}
VISIBLE int cudaFree(void*) {
    return 0;
}
VISIBLE int cudaGetDeviceCount(int* count) {
    *count = 1;
    return 0;
}
