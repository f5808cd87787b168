// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "simulated_machine.h"

namespace {

struct Measured {
    uint64_t asked;
    uint64_t device_bytes;  // per piece, of 64 pieces
    uint64_t spacing;
};

std::vector<CUdeviceptr> allocate(size_t count, uint64_t bytes) {
    std::vector<CUdeviceptr> pieces(count);
    for (CUdeviceptr& piece : pieces) {
        REQUIRE(cuMemAlloc(&piece, bytes) == CUDA_SUCCESS);
    }
    return pieces;
}

}  // namespace

TEST_CASE("rounding and spacing follow the measured table") {
    const auto row = GENERATE(Measured{1, 32 * kKiB, 512}, Measured{512, 32 * kKiB, 512},
                              Measured{4 * kKiB, 32 * kKiB, 4 * kKiB}, Measured{64 * kKiB, 64 * kKiB, 64 * kKiB},
                              Measured{kMiB, kMiB, kMiB}, Measured{2 * kMiB, 2 * kMiB, 2 * kMiB},
                              Measured{2 * kMiB + 1, 4 * kMiB, 4 * kMiB}, Measured{3 * kMiB, 4 * kMiB, 4 * kMiB});
    const PrimaryContext context;
    CAPTURE(row.asked);
    const uint64_t before = used_bytes();
    const auto pieces = allocate(64, row.asked);
    CHECK(used_bytes() - before == 64 * row.device_bytes);
    for (size_t i = 1; i < pieces.size(); ++i) {
        CHECK(pieces[i] - pieces[i - 1] == row.spacing);
    }
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE) == 64 * row.asked);
}

TEST_CASE("20 MiB takes 20 MiB of the device and 32 MiB of addresses") {
    const PrimaryContext context;
    const uint64_t before = used_bytes();
    const auto pieces = allocate(4, 20 * kMiB);
    CHECK(used_bytes() - before == 80 * kMiB);
    CHECK(pieces[1] - pieces[0] == 32 * kMiB);
}

TEST_CASE("65,536 pieces of 512 bytes share 16 pages, and freeing every second gives nothing back") {
    const PrimaryContext context;
    const uint64_t before = used_bytes();
    const auto pieces = allocate(65536, 512);
    CHECK(used_bytes() - before == 32 * kMiB);
    for (size_t i = 0; i < pieces.size(); i += 2) {
        REQUIRE(cuMemFree(pieces[i]) == CUDA_SUCCESS);
    }
    CHECK(used_bytes() - before == 32 * kMiB);
    for (size_t i = 1; i < pieces.size(); i += 2) {
        REQUIRE(cuMemFree(pieces[i]) == CUDA_SUCCESS);
    }
    CHECK(used_bytes() == before);
}

TEST_CASE("the driver fragments below its page and not above it") {
    const PrimaryContext context;
    CUdeviceptr large = 0;
    SECTION("2 MiB pieces, every second freed: all of it is usable at once") {
        const auto pieces = allocate(450, 2 * kMiB);
        for (size_t i = 0; i < pieces.size(); i += 2) {
            REQUIRE(cuMemFree(pieces[i]) == CUDA_SUCCESS);
        }
        size_t free = 0;
        size_t total = 0;
        REQUIRE(cuMemGetInfo(&free, &total) == CUDA_SUCCESS);
        CHECK(cuMemAlloc(&large, free) == CUDA_SUCCESS);
    }
    SECTION("1 MiB pieces: nothing comes back") {
        const auto pieces = allocate(900, kMiB);
        for (size_t i = 0; i < pieces.size(); i += 2) {
            REQUIRE(cuMemFree(pieces[i]) == CUDA_SUCCESS);
        }
        CHECK(cuMemAlloc(&large, 400 * kMiB) == CUDA_ERROR_OUT_OF_MEMORY);
    }
}

TEST_CASE("memory can be written, filled and read") {
    const PrimaryContext context;
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAlloc(&memory, 1000) == CUDA_SUCCESS);
    const std::string text = "what goes in comes out";
    CHECK(cuMemcpyHtoD(memory, text.data(), text.size()) == CUDA_SUCCESS);
    std::string back(text.size(), ' ');
    CHECK(cuMemcpyDtoH(back.data(), memory, back.size()) == CUDA_SUCCESS);
    CHECK(back == text);
    CHECK(cuMemsetD8(memory, 'x', 4) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH(back.data(), memory, back.size()) == CUDA_SUCCESS);
    CHECK(back == "xxxx" + text.substr(4));
    CHECK(cuMemcpyHtoD(memory, text.data(), 1001) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemsetD8(memory + 999, 0, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemcpyDtoH(back.data(), 0x1000, 1) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("wrong arguments are refused and change nothing") {
    const PrimaryContext context;
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc(nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemAlloc(&memory, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemAlloc(&memory, kDeviceBytes * 100) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuMemAlloc(&memory, SIZE_MAX) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuMemAlloc(&memory, SIZE_MAX - kMiB) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuMemFree(0) == CUDA_SUCCESS);
    CHECK(cuMemFree(0x1000) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cuMemAlloc(&memory, 1024) == CUDA_SUCCESS);
    CHECK(cuMemFree(memory + 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE) == 0);
    CHECK(used_bytes() == kContextBytes);
}

TEST_CASE("pitched memory counts pitch times height") {
    const PrimaryContext context;
    CUdeviceptr memory = 0;
    size_t pitch = 0;
    REQUIRE(cuMemAllocPitch(&memory, &pitch, 1000, 7, 4) == CUDA_SUCCESS);
    CHECK(pitch == 1024);
    CHECK(live_bytes(VRAMTRACE_SIM_PITCHED) == 7 * pitch);
    CHECK(cuMemAllocPitch(&memory, &pitch, 1000, 7, 3) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("managed memory is the host's until a kernel comes, which none does") {
    const PrimaryContext context;
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAllocManaged(&memory, 5 * kDeviceBytes, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes);
    CHECK(live_bytes(VRAMTRACE_SIM_MANAGED) == 5 * kDeviceBytes);
    std::strcpy(reinterpret_cast<char*>(memory), "written by the host");
    CHECK(cuMemAdvise(memory, 100, CU_MEM_ADVISE_SET_READ_MOSTLY, CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, 0}) ==
          CUDA_SUCCESS);
    unsigned int managed = 0;
    CHECK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory) == CUDA_SUCCESS);
    CHECK(managed == 1);
    CHECK(cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_MANAGED) == 0);
}

TEST_CASE("pinned and registered host memory") {
    const PrimaryContext context;
    void* pinned = nullptr;
    REQUIRE(cuMemAllocHost(&pinned, 3000) == CUDA_SUCCESS);
    std::memset(pinned, 1, 3000);
    void* mapped = nullptr;
    REQUIRE(cuMemHostAlloc(&mapped, 100, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_HOST) == 3100);
    CUdeviceptr device = 0;
    CHECK(cuMemHostGetDevicePointer(&device, mapped, 0) == CUDA_SUCCESS);
    unsigned int flags = 0;
    CHECK(cuMemHostGetFlags(&flags, mapped) == CUDA_SUCCESS);
    CHECK((flags & CU_MEMHOSTALLOC_PORTABLE) != 0);
    std::vector<char> own(10000);
    CHECK(cuMemHostRegister(own.data(), own.size(), 0) == CUDA_SUCCESS);
    CHECK(cuMemHostRegister(own.data() + 50, 10, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(live_bytes(VRAMTRACE_SIM_HOST_REGISTERED) == own.size());
    CHECK(cuMemFreeHost(own.data()) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemHostUnregister(own.data()) == CUDA_SUCCESS);
    CHECK(cuMemHostUnregister(own.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK(cuMemFreeHost(pinned) == CUDA_SUCCESS);
    CHECK(cuMemFreeHost(nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(live_bytes(VRAMTRACE_SIM_HOST) == 100);
}

TEST_CASE("arrays count elements times their size; views count nothing") {
    const PrimaryContext context;
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR flat{253259, 1, CU_AD_FORMAT_FLOAT, 1};
    REQUIRE(cuArrayCreate(&array, &flat) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_ARRAY) == 1013036);
    CUmipmappedArray mipmap = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR deep{64, 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0};
    REQUIRE(cuMipmappedArrayCreate(&mipmap, &deep, 3) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_MIPMAPPED_ARRAY) == 4 * (64 * 64 + 32 * 32 + 16 * 16));
    const uint64_t things = everything_live().size();
    CUarray level = nullptr;
    REQUIRE(cuMipmappedArrayGetLevel(&level, mipmap, 1) == CUDA_SUCCESS);
    CHECK(everything_live().size() == things);
    CHECK(cuArrayDestroy(level) == CUDA_ERROR_INVALID_HANDLE);
    const std::vector<unsigned char> in(32 * 4, 7);
    std::vector<unsigned char> out(32 * 4);
    CHECK(cuMemcpyHtoA(level, 0, in.data(), in.size()) == CUDA_SUCCESS);
    CHECK(cuMemcpyAtoH(out.data(), level, 0, out.size()) == CUDA_SUCCESS);
    CHECK(in == out);
    CHECK(cuMemcpyAtoH(out.data(), level, 1, 32 * 4) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_SUCCESS);
    CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
    CHECK(cuArrayDestroy(array) == CUDA_ERROR_INVALID_HANDLE);
    CUDA_ARRAY3D_DESCRIPTOR deferred{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING};
    REQUIRE(cuArray3DCreate(&array, &deferred) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_ARRAY) == 0);
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
    CHECK(cuArrayGetMemoryRequirements(&needs, array, 0) == CUDA_SUCCESS);
    CHECK(needs.size >= 64 * 64 * 4);
}
