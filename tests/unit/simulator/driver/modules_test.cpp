// SPDX-License-Identifier: Apache-2.0
#include "simulated_machine.h"

TEST_CASE("a module's memory is its image, unless its variables are known") {
    const PrimaryContext context;
    CUmodule module = nullptr;
    const std::string image = ".version 9.0\n.target sm_90\n";
    SECTION("nothing known") {
        REQUIRE(cuModuleLoadData(&module, image.c_str()) == CUDA_SUCCESS);
        CHECK(live_bytes(VRAMTRACE_SIM_MODULE) == image.size());
        CHECK(live_bytes(VRAMTRACE_SIM_DEVICE_TOTAL) == 0);
        CUdeviceptr global = 0;
        size_t bytes = 0;
        CHECK(cuModuleGetGlobal(&global, &bytes, module, "anything") == CUDA_SUCCESS);
        CHECK(bytes == 64 * kKiB);
    }
    SECTION("declared") {
        vramtrace_sim_declare_global(image.c_str(), "table", 4 * kMiB, 0);
        const uint64_t before = used_bytes();
        REQUIRE(cuModuleLoadData(&module, image.c_str()) == CUDA_SUCCESS);
        CHECK(used_bytes() - before == 4 * kMiB);
        CHECK(live_bytes(VRAMTRACE_SIM_MODULE) == 4 * kMiB);
        CUdeviceptr global = 0;
        size_t bytes = 0;
        REQUIRE(cuModuleGetGlobal(&global, &bytes, module, "table") == CUDA_SUCCESS);
        CHECK(bytes == 4 * kMiB);
        CHECK(cuMemsetD8(global, 1, bytes) == CUDA_SUCCESS);
        CHECK(cuModuleGetGlobal(&global, &bytes, module, "other") == CUDA_ERROR_NOT_FOUND);
    }
    CUfunction function = nullptr;
    REQUIRE(cuModuleGetFunction(&function, module, "kernel") == CUDA_SUCCESS);
    CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS);
    CHECK(cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
    CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(used_bytes() == kContextBytes);
}

TEST_CASE("a library costs nothing until a context uses it") {
    const PrimaryContext context;
    const char image[] = ".version 9.0\n.target sm_90 // of a library\n";
    vramtrace_sim_declare_global(image, "state", 3 * kMiB, 0);
    vramtrace_sim_declare_global(image, "shared", 100, 1);
    CUlibrary library = nullptr;
    REQUIRE(cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes);
    CUkernel kernel = nullptr;
    REQUIRE(cuLibraryGetKernel(&kernel, library, "work") == CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes);
    REQUIRE(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
            CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes + 4 * kMiB);
    CHECK(live_bytes(VRAMTRACE_SIM_MODULE) == 3 * kMiB);
    CUdeviceptr address = 0;
    size_t bytes = 0;
    CHECK(cuLibraryGetGlobal(&address, &bytes, library, "state") == CUDA_SUCCESS);
    CHECK(bytes == 3 * kMiB);
    CHECK(cuLibraryGetManaged(&address, &bytes, library, "shared") == CUDA_SUCCESS);
    CHECK(bytes == 100);
    *reinterpret_cast<int*>(address) = 1;
    int value = 0;
    CHECK(cuMemcpyDtoH(&value, address, sizeof value) == CUDA_SUCCESS);
    CHECK(value == 1);
    CHECK(cuMemFree(address) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLibraryGetManaged(&address, &bytes, library, "state") == CUDA_ERROR_NOT_FOUND);
    CHECK(cuLibraryUnload(library) == CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes);
    CHECK(live_count(VRAMTRACE_SIM_LIBRARY) == 0);
}

TEST_CASE("the linker joins what it is given and takes no device memory") {
    const PrimaryContext context;
    CUlinkState state = nullptr;
    REQUIRE(cuLinkCreate(0, nullptr, nullptr, &state) == CUDA_SUCCESS);
    void* image = nullptr;
    size_t bytes = 0;
    CHECK(cuLinkComplete(state, &image, &bytes) == CUDA_ERROR_INVALID_IMAGE);
    std::string first = ".version 9.0\n";
    std::string second = ".target sm_90\n";
    REQUIRE(cuLinkAddData(state, CU_JIT_INPUT_PTX, first.data(), first.size(), "a", 0, nullptr, nullptr) ==
            CUDA_SUCCESS);
    REQUIRE(cuLinkAddData(state, CU_JIT_INPUT_PTX, second.data(), second.size(), "b", 0, nullptr, nullptr) ==
            CUDA_SUCCESS);
    REQUIRE(cuLinkComplete(state, &image, &bytes) == CUDA_SUCCESS);
    CHECK(std::string(static_cast<char*>(image), bytes) == first + second);
    CHECK(used_bytes() == kContextBytes);
    CHECK(cuLinkDestroy(state) == CUDA_SUCCESS);
    CHECK(cuLinkDestroy(state) == CUDA_ERROR_INVALID_HANDLE);
}
