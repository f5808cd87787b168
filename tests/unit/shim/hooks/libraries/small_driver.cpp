// SPDX-License-Identifier: Apache-2.0
// A library with names of the driver in it, each function different from every other.
#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE int cuMemAlloc(unsigned* address, unsigned bytes) {
    *address = bytes;
    return 0;
}
VISIBLE int cuMemAlloc_v2(unsigned long long* address, unsigned long bytes) {
    *address = 0x1000 + bytes;
    return 0;
}
VISIBLE int cuMemAlloc_v9(unsigned long long*, unsigned long, int) {
    return 9;
}
VISIBLE int cuMemFree_v2(unsigned long long address) {
    return address == 0xbad ? 1 : 0;
}
VISIBLE int cuMemAllocAsync(unsigned long long* address, unsigned long bytes, void*) {
    *address = 0x2000 + bytes;
    return 0;
}
VISIBLE int cuMemAllocAsync_ptsz(unsigned long long* address, unsigned long bytes, void*) {
    *address = 0x3000 + bytes;
    return 0;
}
VISIBLE int cuMemGetInfo_v2(unsigned long* free_bytes, unsigned long* total) {
    *free_bytes = 1;
    *total = 2;
    return 0;
}
VISIBLE int cuDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}
VISIBLE int cuCtxGetCurrent(void** context) {
    *context = reinterpret_cast<void*>(0xc0);
    return 0;
}
VISIBLE int cuCtxGetDevice(int* device) {
    *device = 0;
    return 0;
}

// As the real one: base names, the version chooses; a miss is no error in the second version.
VISIBLE int cuGetProcAddress_v2(const char* symbol, void** function, int version, unsigned long long flags,
                                int* status);
VISIBLE int cuGetProcAddress(const char* symbol, void** function, int version, unsigned long long flags) {
    int status = 0;
    void* found = nullptr;
    cuGetProcAddress_v2(symbol, &found, version, flags, &status);
    if (found == nullptr) return 500;
    *function = found;
    return 0;
}

namespace {
bool same(const char* a, const char* b) {
    while (*a != '\0' && *a == *b) ++a, ++b;
    return *a == *b;
}
}  // namespace

VISIBLE int cuGetProcAddress_v2(const char* symbol, void** function, int version, unsigned long long flags,
                                int* status) {
    if (version > 13000) return 1;
    *function = nullptr;
    if (status != nullptr) *status = 1;
    if (same(symbol, "cuMemAlloc"))
        *function = version >= 3020 ? reinterpret_cast<void*>(&cuMemAlloc_v2) : reinterpret_cast<void*>(&cuMemAlloc);
    if (same(symbol, "cuMemFree")) *function = reinterpret_cast<void*>(&cuMemFree_v2);
    if (same(symbol, "cuMemAllocAsync"))
        *function =
            flags == 2 ? reinterpret_cast<void*>(&cuMemAllocAsync_ptsz) : reinterpret_cast<void*>(&cuMemAllocAsync);
    if (same(symbol, "cuMemAllocNine")) *function = reinterpret_cast<void*>(&cuMemAlloc_v9);
    if (same(symbol, "cuMemGetInfo")) *function = reinterpret_cast<void*>(&cuMemGetInfo_v2);
    if (same(symbol, "cuGetProcAddress"))
        *function = version >= 12000 ? reinterpret_cast<void*>(&cuGetProcAddress_v2)
                                     : reinterpret_cast<void*>(&cuGetProcAddress);
    if (status != nullptr && *function != nullptr) *status = 0;
    return 0;
}
