// SPDX-License-Identifier: Apache-2.0
// The allocations of a program that calls the driver through pointers it got in some way.
#pragma once

#include "tests/programs/expect.h"

#include <cuda.h>

#include <type_traits>

// Own prototypes: cuda.h renames some of these by macro, and the exact exported name is what matters here.
struct DriverFunctions {
    CUresult (*init)(unsigned int);
    CUresult (*device_get)(CUdevice*, int);
    CUresult (*primary_retain)(CUcontext*, CUdevice);
    CUresult (*primary_release)(CUdevice);  // null: leave the context alive
    CUresult (*set_current)(CUcontext);
    CUresult (*alloc)(CUdeviceptr*, size_t);
    CUresult (*free)(CUdeviceptr);
    CUresult (*alloc_managed)(CUdeviceptr*, size_t, unsigned int);
    CUresult (*alloc_host)(void**, size_t, unsigned int);
    CUresult (*free_host)(void*);
    CUresult (*alloc_async)(CUdeviceptr*, size_t, CUstream);
    CUresult (*free_async)(CUdeviceptr, CUstream);
    CUresult (*stream_synchronize)(CUstream);
};

/// Fills the table with find(name, version): exported names for dlsym, base names and versions for the resolvers.
template <typename Find>
DriverFunctions find_driver_functions(Find&& find) {
    DriverFunctions functions = {};
    const auto get = [&](auto& place, const char* symbol, const char* base, int version) {
        place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(find(symbol, base, version));
        if (place == nullptr) fail(symbol, -1);
    };
    get(functions.init, "cuInit", "cuInit", 2000);
    get(functions.device_get, "cuDeviceGet", "cuDeviceGet", 2000);
    get(functions.primary_retain, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000);
    get(functions.set_current, "cuCtxSetCurrent", "cuCtxSetCurrent", 4000);
    get(functions.alloc, "cuMemAlloc_v2", "cuMemAlloc", 3020);
    get(functions.free, "cuMemFree_v2", "cuMemFree", 3020);
    get(functions.alloc_managed, "cuMemAllocManaged", "cuMemAllocManaged", 6000);
    get(functions.alloc_host, "cuMemHostAlloc", "cuMemHostAlloc", 2020);
    get(functions.free_host, "cuMemFreeHost", "cuMemFreeHost", 2000);
    get(functions.alloc_async, "cuMemAllocAsync", "cuMemAllocAsync", 11020);
    get(functions.free_async, "cuMemFreeAsync", "cuMemFreeAsync", 11020);
    get(functions.stream_synchronize, "cuStreamSynchronize", "cuStreamSynchronize", 2000);
    return functions;
}

inline void allocate_through_driver(const DriverFunctions& driver, size_t base, const char* async_name) {
    MUST(driver.init(0));
    CUdevice device = 0;
    MUST(driver.device_get(&device, 0));
    CUcontext context = nullptr;
    MUST(driver.primary_retain(&context, device));
    MUST(driver.set_current(context));

    CUdeviceptr first = 0;
    MUST(driver.alloc(&first, base + 1));
    expect("cuMemAlloc_v2", base + 1);

    CUdeviceptr leaked = 0;
    MUST(driver.alloc(&leaked, base + 3));
    expect("cuMemAlloc_v2", base + 3);

    CUdeviceptr managed = 0;
    MUST(driver.alloc_managed(&managed, base + 5, CU_MEM_ATTACH_GLOBAL));
    expect("cuMemAllocManaged", base + 5);

    void* host = nullptr;
    MUST(driver.alloc_host(&host, base + 7, 0));
    expect("cuMemHostAlloc", base + 7);

    CUdeviceptr ordered = 0;
    MUST(driver.alloc_async(&ordered, base + 11, nullptr));
    expect(async_name, base + 11);

    MUST(driver.free_async(ordered, nullptr));
    MUST(driver.stream_synchronize(nullptr));
    MUST(driver.free_host(host));
    MUST(driver.free(managed));
    MUST(driver.free(first));
    kept("cuMemAlloc_v2", base + 3);
    if (driver.primary_release != nullptr) MUST(driver.primary_release(device));
}
