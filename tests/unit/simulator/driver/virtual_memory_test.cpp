// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "simulated_machine.h"

namespace {

constexpr size_t kPage = 2 * kMiB;

CUmemGenericAllocationHandle create(size_t bytes, CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_NONE) {
    const auto properties = on_device(0, type);
    CUmemGenericAllocationHandle handle = 0;
    REQUIRE(cuMemCreate(&handle, bytes, &properties, 0) == CUDA_SUCCESS);
    return handle;
}

CUdeviceptr reserve(size_t bytes) {
    CUdeviceptr range = 0;
    REQUIRE(cuMemAddressReserve(&range, bytes, 0, 0, 0) == CUDA_SUCCESS);
    return range;
}

void allow(CUdeviceptr address, size_t bytes) {
    CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    REQUIRE(cuMemSetAccess(address, bytes, &access, 1) == CUDA_SUCCESS);
}

}  // namespace

TEST_CASE("the bytes belong to the handle until no reference and no mapping is left") {
    const PrimaryContext context;
    const CUdeviceptr range = reserve(4 * kPage);
    CHECK(used_bytes() == kContextBytes);
    const auto handle = create(kPage);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == kPage);
    REQUIRE(cuMemMap(range, kPage, 0, handle, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemMap(range + kPage, kPage, 0, handle, 0) == CUDA_SUCCESS);
    CHECK(cuMemMap(range, kPage, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE_TOTAL) == kPage);
    CHECK(live_count(VRAMTRACE_SIM_MAPPING) == 2);
    CHECK(cuMemsetD8(range, 1, 1) == CUDA_ERROR_INVALID_VALUE);  // no access yet
    allow(range, 2 * kPage);
    SECTION("two addresses, one memory") {
        CHECK(cuMemsetD32(range + 16, 0xabcd, 1) == CUDA_SUCCESS);
        unsigned int seen = 0;
        CHECK(cuMemcpyDtoH(&seen, range + kPage + 16, 4) == CUDA_SUCCESS);
        CHECK(seen == 0xabcd);
    }
    SECTION("a retained handle is a reference of its own") {
        CUmemGenericAllocationHandle again = 0;
        REQUIRE(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range + 5)) == CUDA_SUCCESS);
        CHECK(again == handle);
        CHECK(cuMemRelease(again) == CUDA_SUCCESS);
    }
    CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
    CHECK(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == kPage);
    CHECK(cuMemAddressFree(range, 4 * kPage) == CUDA_ERROR_INVALID_VALUE);  // still mapped
    CHECK(cuMemUnmap(range, kPage) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == kPage);
    CHECK(cuMemUnmap(range + kPage, kPage) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == 0);
    CHECK(used_bytes() == kContextBytes);
    CHECK(cuMemAddressFree(range, 4 * kPage) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_ADDRESS_RANGE) == 0);
}

TEST_CASE("several handles side by side make one range, unmapped at once") {
    const PrimaryContext context;
    const CUdeviceptr range = reserve(2 * kPage);
    const auto first = create(kPage);
    const auto second = create(kPage);
    REQUIRE(cuMemMap(range, kPage, 0, first, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemMap(range + kPage, kPage, 0, second, 0) == CUDA_SUCCESS);
    allow(range, 2 * kPage);
    CHECK(cuMemsetD8(range, 7, 2 * kPage) == CUDA_SUCCESS);
    CHECK(cuMemUnmap(range, kPage + 4096) == CUDA_ERROR_INVALID_VALUE);
    CHECK(live_count(VRAMTRACE_SIM_MAPPING) == 2);
    CHECK(cuMemUnmap(range, 2 * kPage) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == 2 * kPage);
    CHECK(cuMemRelease(first) == CUDA_SUCCESS);
    CHECK(cuMemRelease(second) == CUDA_SUCCESS);
    CHECK(cuMemAddressFree(range, 2 * kPage) == CUDA_SUCCESS);
}

TEST_CASE("sizes must be whole pages and the device has an end") {
    const PrimaryContext context;
    const auto properties = on_device(0);
    CUmemGenericAllocationHandle handle = 0;
    CHECK(cuMemCreate(&handle, kPage + 1, &properties, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemCreate(&handle, 2 * kDeviceBytes, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    size_t granularity = 0;
    CHECK(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS);
    CHECK(granularity == kPage);
}

TEST_CASE("an import into the same process is one more reference") {
    const PrimaryContext context;
    const auto handle = create(kPage, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    int descriptor = -1;
    REQUIRE(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
            CUDA_SUCCESS);
    CUmemGenericAllocationHandle imported = 0;
    REQUIRE(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_SUCCESS);
    close(descriptor);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == kPage);
    CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == kPage);
    CHECK(cuMemRelease(imported) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == 0);
}

TEST_CASE("what is bound to a multicast object lives while it is bound") {
    const PrimaryContext context;
    CUmulticastObjectProp team{};
    team.numDevices = 2;
    team.size = kPage;
    CUmemGenericAllocationHandle multicast = 0;
    REQUIRE(cuMulticastCreate(&multicast, &team) == CUDA_SUCCESS);
    const auto memory = create(kPage);
    CHECK(cuMulticastBindMem(multicast, 0, memory, 0, kPage, 0) == CUDA_ERROR_INVALID_VALUE);  // not in the team
    REQUIRE(cuMulticastAddDevice(multicast, 0) == CUDA_SUCCESS);
    REQUIRE(cuMulticastBindMem(multicast, 0, memory, 0, kPage, 0) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_MULTICAST) == 1);
    CHECK(cuMemRelease(memory) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == kPage);
    SECTION("unbound") {
        CHECK(cuMulticastUnbind(multicast, 0, 0, kPage) == CUDA_SUCCESS);
        CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == 0);
        CHECK(cuMemRelease(multicast) == CUDA_SUCCESS);
    }
    SECTION("or the object goes") {
        CHECK(cuMemRelease(multicast) == CUDA_SUCCESS);
        CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == 0);
    }
    CHECK(live_count(VRAMTRACE_SIM_MULTICAST) == 0);
}

TEST_CASE("memory bound to a deferred array lives while it is bound") {
    const PrimaryContext context;
    CUarray array = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR shape{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING};
    REQUIRE(cuArray3DCreate(&array, &shape) == CUDA_SUCCESS);
    const auto memory = create(kPage);
    CUarrayMapInfo info{};
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = memory;
    info.deviceBitMask = 1;
    REQUIRE(cuMemMapArrayAsync(&info, 1, nullptr) == CUDA_SUCCESS);
    CHECK(cuMemRelease(memory) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == kPage);
    CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL) == 0);
}
