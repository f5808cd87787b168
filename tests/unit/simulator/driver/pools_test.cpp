// SPDX-License-Identifier: Apache-2.0
#include "simulated_machine.h"

namespace {

uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which) {
    cuuint64_t value = 0;
    REQUIRE(cuMemPoolGetAttribute(pool, which, &value) == CUDA_SUCCESS);
    return value;
}

uint64_t reserved(CUmemoryPool pool) {
    return attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

CUmemoryPool default_pool(CUdevice device = 0) {
    CUmemoryPool pool = nullptr;
    REQUIRE(cuDeviceGetDefaultMemPool(&pool, device) == CUDA_SUCCESS);
    return pool;
}

CUmemoryPool new_pool(size_t largest = 0) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    properties.maxSize = largest;
    CUmemoryPool pool = nullptr;
    REQUIRE(cuMemPoolCreate(&pool, &properties) == CUDA_SUCCESS);
    return pool;
}

}  // namespace

TEST_CASE("a pool grows by 32 MiB and keeps what is reserved until a synchronisation") {
    const PrimaryContext context;
    const CUmemoryPool pool = default_pool();
    CUdeviceptr small = 0;
    CUdeviceptr large = 0;
    REQUIRE(cuMemAllocAsync(&small, 1000, nullptr) == CUDA_SUCCESS);
    CHECK(reserved(pool) == 32 * kMiB);
    CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1024);
    REQUIRE(cuMemAllocAsync(&large, 40 * kMiB, nullptr) == CUDA_SUCCESS);
    CHECK(reserved(pool) == 96 * kMiB);
    CHECK(used_bytes() == kContextBytes + 96 * kMiB);
    CHECK(live_bytes(VRAMTRACE_SIM_STREAM_ORDERED) == 1000 + 40 * kMiB);
    REQUIRE(cuMemFreeAsync(large, nullptr) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_STREAM_ORDERED) == 1000);
    CHECK(reserved(pool) == 96 * kMiB);
    REQUIRE(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
    CHECK(reserved(pool) == 32 * kMiB);
    CHECK(cuMemFree(small) == CUDA_SUCCESS);
    REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(reserved(pool) == 0);
}

TEST_CASE("the release threshold keeps memory until it is trimmed, or needed elsewhere") {
    const PrimaryContext context;
    const CUmemoryPool pool = new_pool();
    cuuint64_t everything = UINT64_MAX;
    REQUIRE(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAllocFromPoolAsync(&memory, 800 * kMiB, pool, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuMemFreeAsync(memory, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(reserved(pool) == 800 * kMiB);
    SECTION("trimmed") {
        REQUIRE(cuMemPoolTrimTo(pool, 0) == CUDA_SUCCESS);
        CHECK(reserved(pool) == 0);
    }
    SECTION("an allocation outside takes it back by itself") {
        REQUIRE(cuMemAlloc(&memory, 900 * kMiB) == CUDA_SUCCESS);
        CHECK(reserved(pool) == 0);
    }
    CHECK(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
}

TEST_CASE("a destroyed pool lives until its last allocation is freed, and a device falls back to its default pool") {
    const PrimaryContext context;
    const CUmemoryPool pool = new_pool();
    REQUIRE(cuDeviceSetMemPool(0, pool) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAllocAsync(&memory, kMiB, nullptr) == CUDA_SUCCESS);
    CHECK(reserved(default_pool()) == 0);
    REQUIRE(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_POOL) == 1);
    CUmemoryPool current = nullptr;
    CHECK(cuDeviceGetMemPool(&current, 0) == CUDA_SUCCESS);
    CHECK(current == default_pool());
    CUdeviceptr refused = 0;
    CHECK(cuMemAllocFromPoolAsync(&refused, 1, pool, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(live_bytes(VRAMTRACE_SIM_STREAM_ORDERED) == kMiB);
    CHECK(cuMemFreeAsync(memory, nullptr) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_POOL) == 0);
    CHECK(used_bytes() == kContextBytes);
    CHECK(cuMemPoolDestroy(default_pool()) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a pool has a largest size, and a full device refuses") {
    const PrimaryContext context;
    const CUmemoryPool pool = new_pool(32 * kMiB);
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    CHECK(cuMemAllocFromPoolAsync(&first, 20 * kMiB, pool, nullptr) == CUDA_SUCCESS);
    CHECK(cuMemAllocFromPoolAsync(&second, 20 * kMiB, pool, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuMemAllocAsync(&second, 2 * kDeviceBytes, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuMemFreeAsync(0, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFreeAsync(first, nullptr) == CUDA_SUCCESS);
    CHECK(cuMemFreeAsync(first, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
    REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
}

TEST_CASE("high water marks") {
    const PrimaryContext context;
    const CUmemoryPool pool = new_pool();
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAllocFromPoolAsync(&memory, 10 * kMiB, pool, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuMemFreeAsync(memory, nullptr) == CUDA_SUCCESS);
    CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 10 * kMiB);
    CHECK(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 32 * kMiB);
    cuuint64_t zero = 0;
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero) == CUDA_SUCCESS);
    CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 0);
    CHECK(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
}
