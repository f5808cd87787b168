// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "simulated_machine.h"

TEST_CASE("a context costs device memory that only cuMemGetInfo shows") {
    const PrimaryContext primary;
    CHECK(used_bytes() == kContextBytes);
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE_TOTAL) == 0);
    CUcontext created = nullptr;
    REQUIRE(cuCtxCreate(&created, nullptr, 0, 0) == CUDA_SUCCESS);
    CHECK(used_bytes() == 2 * kContextBytes);
    size_t free = 0;
    size_t total = 0;
    REQUIRE(cuMemGetInfo(&free, &total) == CUDA_SUCCESS);
    CHECK(total == kDeviceBytes);
    CHECK(free == kDeviceBytes - 2 * kContextBytes);
    CHECK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 72 * kMiB) == CUDA_SUCCESS);
    CHECK(used_bytes() == 2 * kContextBytes + 64 * kMiB);
    CHECK(cuCtxDestroy(created) == CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes);
}

TEST_CASE("the end of a context ends what belongs to it and nothing else") {
    const PrimaryContext primary;
    CUcontext context = nullptr;
    REQUIRE(cuCtxCreate(&context, nullptr, 0, 0) == CUDA_SUCCESS);
    CUdeviceptr device = 0;
    CUdeviceptr managed = 0;
    CUdeviceptr pooled = 0;
    CUdeviceptr range = 0;
    void* host = nullptr;
    size_t pitch = 0;
    CUdeviceptr pitched = 0;
    CUarray array = nullptr;
    CUmodule module = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUmemGenericAllocationHandle handle = 0;
    const CUDA_ARRAY_DESCRIPTOR shape{16, 16, CU_AD_FORMAT_FLOAT, 1};
    const auto properties = on_device(0);
    REQUIRE(cuMemAlloc(&device, 100) == CUDA_SUCCESS);
    REQUIRE(cuMemAllocPitch(&pitched, &pitch, 64, 2, 4) == CUDA_SUCCESS);
    REQUIRE(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
    REQUIRE(cuMemAllocHost(&host, 100) == CUDA_SUCCESS);
    REQUIRE(cuArrayCreate(&array, &shape) == CUDA_SUCCESS);
    REQUIRE(cuModuleLoadData(&module, ".version 9.0\n") == CUDA_SUCCESS);
    REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
    REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemAllocAsync(&pooled, 100, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemAddressReserve(&range, 2 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
    const auto before = totals(VRAMTRACE_SIM_DEVICE);
    REQUIRE(cuCtxDestroy(context) == CUDA_SUCCESS);
    const auto after = totals(VRAMTRACE_SIM_DEVICE);
    CHECK(after.with_owner_count - before.with_owner_count == 1);
    CHECK(after.with_owner_bytes - before.with_owner_bytes == 100);
    for (const int kind : {VRAMTRACE_SIM_DEVICE, VRAMTRACE_SIM_PITCHED, VRAMTRACE_SIM_MANAGED, VRAMTRACE_SIM_HOST,
                           VRAMTRACE_SIM_ARRAY, VRAMTRACE_SIM_MODULE, VRAMTRACE_SIM_STREAM, VRAMTRACE_SIM_EVENT}) {
        INFO(vramtrace_sim_kind_name(kind));
        CHECK(live_count(kind) == 0);
    }
    CHECK(live_bytes(VRAMTRACE_SIM_STREAM_ORDERED) == 100);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == 2 * kMiB);
    CHECK(live_count(VRAMTRACE_SIM_ADDRESS_RANGE) == 1);
    // The old handles are known for what they are.
    CHECK(cuMemFree(device) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuCtxSetCurrent(context) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE);
    const uint64_t pooled_before = totals(VRAMTRACE_SIM_STREAM_ORDERED).with_owner_count;
    CHECK(cuMemFree(pooled) == CUDA_SUCCESS);
    CHECK(totals(VRAMTRACE_SIM_STREAM_ORDERED).with_owner_count == pooled_before);
    CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
    CHECK(cuMemAddressFree(range, 2 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("the primary context is counted; a reset ends it but the holders still owe their releases") {
    REQUIRE(cuInit(0) == CUDA_SUCCESS);
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    REQUIRE(cuDevicePrimaryCtxRetain(&first, 1) == CUDA_SUCCESS);
    REQUIRE(cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
    CHECK(first == second);
    REQUIRE(cuCtxSetCurrent(first) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAlloc(&memory, 100) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE, 1) == 100);
    CHECK(cuDevicePrimaryCtxReset(1) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE, 1) == 0);
    CHECK(used_bytes(1) == 0);
    CHECK(cuMemAlloc(&memory, 100) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    REQUIRE(cuDevicePrimaryCtxRetain(&first, 1) == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&memory, 100) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE, 1) == 100);
    CHECK(cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE, 1) == 0);
    CHECK(cuDevicePrimaryCtxRelease(1) == CUDA_ERROR_INVALID_CONTEXT);
    cuCtxSetCurrent(nullptr);
}

TEST_CASE("each thread has a stack of its own") {
    const PrimaryContext primary;
    std::thread([] {
        CUdeviceptr memory = 0;
        CHECK(cuMemAlloc(&memory, 1) == CUDA_ERROR_INVALID_CONTEXT);
        CUdevice device = 0;
        CHECK(cuCtxGetDevice(&device) == CUDA_ERROR_INVALID_CONTEXT);
        CUcontext current = reinterpret_cast<CUcontext>(1);
        CHECK(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
        CHECK(current == nullptr);
    }).join();
    CUcontext other = nullptr;
    REQUIRE(cuDevicePrimaryCtxRetain(&other, 1) == CUDA_SUCCESS);
    CUdevice device = 0;
    CHECK(cuCtxPushCurrent(other) == CUDA_SUCCESS);
    CHECK(cuCtxGetDevice(&device) == CUDA_SUCCESS);
    CHECK(device == 1);
    CUcontext popped = nullptr;
    CHECK(cuCtxPopCurrent(&popped) == CUDA_SUCCESS);
    CHECK(popped == other);
    CHECK(cuCtxGetDevice(&device) == CUDA_SUCCESS);
    CHECK(device == 0);
    CHECK(cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
}

TEST_CASE("a green context holds a reference of the primary context and works on it") {
    REQUIRE(cuInit(0) == CUDA_SUCCESS);
    CUdevResource resource;
    REQUIRE(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS);
    CUdevResourceDesc description = nullptr;
    REQUIRE(cuDevResourceGenerateDesc(&description, &resource, 1) == CUDA_SUCCESS);
    CUgreenCtx green = nullptr;
    REQUIRE(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS);
    CUcontext context = nullptr;
    REQUIRE(cuCtxFromGreenCtx(&context, green) == CUDA_SUCCESS);
    REQUIRE(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc(&memory, 100) == CUDA_SUCCESS);
    CUstream stream = nullptr;
    CHECK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(cuGreenCtxDestroy(green) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE) == 0);
    CHECK(live_count(VRAMTRACE_SIM_STREAM) == 0);
    CHECK(used_bytes() == 0);
}
