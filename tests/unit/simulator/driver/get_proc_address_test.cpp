// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "simulated_machine.h"

namespace {

using LookUp = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
using OldLookUp = CUresult (*)(const char*, void**, int, cuuint64_t);

void* library() {
    static void* const handle = dlopen("libcuda.so.1", RTLD_NOW);
    REQUIRE(handle != nullptr);
    return handle;
}

LookUp look_up() {
    return reinterpret_cast<LookUp>(dlsym(library(), "cuGetProcAddress_v2"));
}

OldLookUp old_look_up() {
    return reinterpret_cast<OldLookUp>(dlsym(library(), "cuGetProcAddress"));
}

std::string name_of(void* address) {
    Dl_info info{};
    return dladdr(address, &info) != 0 && info.dli_sname != nullptr && info.dli_saddr == address ? info.dli_sname
                                                                                                 : "nothing";
}

int not_a_function = 0;

}  // namespace

TEST_CASE("the 440 recorded look-ups of a real runtime get the export of that ABI") {
    const auto path = std::filesystem::path(__FILE__).parent_path() / "../../../data/cudart13_lookups.txt";
    std::ifstream file(path);
    REQUIRE(file);
    std::string line;
    int count = 0;
    while (std::getline(file, line)) {
        // "NAME ver=V fl=F -> SYMBOL"; the first has no name.
        const size_t version_at = line.find(" ver=");
        REQUIRE(version_at != std::string::npos);
        const std::string name = line.substr(0, version_at);
        int version = 0;
        unsigned long long flags = 0;
        char symbol[128] = {};
        REQUIRE(std::sscanf(line.c_str() + version_at, " ver=%d fl=%llu -> %127s", &version, &flags, symbol) == 3);
        ++count;
        INFO(line);
        void* address = &not_a_function;
        CHECK(look_up()(name.c_str(), &address, version, flags, nullptr) == CUDA_SUCCESS);
        if (std::string(symbol) == "NOT_FOUND") {
            CHECK(address == nullptr);
        } else {
            CHECK(name_of(address) == symbol);
            CHECK(address == dlsym(library(), symbol));
        }
    }
    CHECK(count == 440);
}

TEST_CASE("every row of the table is exported, and reached by its own version and flags") {
    struct Row {
        const char* symbol;
        const char* base;
        int since;
        int flags;
        bool supported;
    };
    constexpr int kLegacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    constexpr int kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    constexpr bool SUPPORTED = true;
    constexpr bool REFUSED = false;
    const Row rows[] = {
#define DRIVER_FUNCTION(symbol, base, since, stream, support) {#symbol, #base, since, stream, support},
#include "simulator/driver/driver_functions.def"
#undef DRIVER_FUNCTION
    };
    int refused = 0;
    for (const Row& row : rows) {
        INFO(row.symbol);
        void* exported = dlsym(library(), row.symbol);
        CHECK(exported != nullptr);
        void* address = nullptr;
        CHECK(look_up()(row.base, &address, row.since, static_cast<cuuint64_t>(row.flags), nullptr) == CUDA_SUCCESS);
        CHECK(address == exported);
        if (!row.supported) {
            ++refused;
            CHECK(reinterpret_cast<int (*)()>(exported)() == CUDA_ERROR_NOT_SUPPORTED);
        }
    }
    CHECK(std::size(rows) == 637);
    CHECK(refused > 0);
}

TEST_CASE("misses are answered as the real driver was measured to answer them") {
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    void* address = &not_a_function;
    CHECK(look_up()("cuNoSuchThing", &address, 13000, 0, &status) == CUDA_SUCCESS);
    CHECK(address == nullptr);
    CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);

    address = &not_a_function;
    CHECK(look_up()("cuMemAllocAsync", &address, 11010, 0, &status) == CUDA_SUCCESS);
    CHECK(address == nullptr);
    CHECK(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);

    SECTION("a name with its suffix is unknown") {
        CHECK(look_up()("cuMemAlloc_v2", &address, 13000, 0, &status) == CUDA_SUCCESS);
        CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    }
    SECTION("versions above the driver and unknown flags leave the pointer alone") {
        for (const auto& [version, flags] : {std::pair(13010, 0), std::pair(99000, 0), std::pair(13000, 4)}) {
            address = &not_a_function;
            CHECK(look_up()("cuMemAlloc", &address, version, static_cast<cuuint64_t>(flags), &status) ==
                  CUDA_ERROR_INVALID_VALUE);
            CHECK(address == &not_a_function);
        }
    }
    SECTION("the four-argument ABI says 500 and leaves the pointer alone") {
        address = &not_a_function;
        CHECK(old_look_up()("cuNoSuchThing", &address, 13000, 0) == CUDA_ERROR_NOT_FOUND);
        CHECK(old_look_up()("cuMemAllocAsync", &address, 11010, 0) == CUDA_ERROR_NOT_FOUND);
        CHECK(address == &not_a_function);
        CHECK(old_look_up()("cuMemAlloc", &address, 13000, 0) == CUDA_SUCCESS);
        CHECK(name_of(address) == "cuMemAlloc_v2");
    }
    SECTION("a per-thread twin is younger than its function, and the legacy symbol does not stand in for it") {
        CHECK(look_up()("cuStreamAttachMemAsync", &address, 6000, 2, &status) == CUDA_SUCCESS);
        CHECK(address == nullptr);
        CHECK(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
        CHECK(look_up()("cuMemAlloc", &address, 13000, 2, &status) == CUDA_SUCCESS);
        CHECK(name_of(address) == "cuMemAlloc_v2");
        CHECK(look_up()("cuMemAllocAsync", &address, 13000, 2, &status) == CUDA_SUCCESS);
        CHECK(name_of(address) == "cuMemAllocAsync_ptsz");
        CHECK(look_up()("cuMemAllocAsync", &address, 13000, 1, &status) == CUDA_SUCCESS);
        CHECK(name_of(address) == "cuMemAllocAsync");
    }
}

TEST_CASE("private tables are not imitated") {
    const void* table = &not_a_function;
    const CUuuid id{};
    CHECK(cuGetExportTable(&table, &id) == CUDA_ERROR_NOT_FOUND);
}
