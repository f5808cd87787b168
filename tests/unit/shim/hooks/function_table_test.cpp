// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/function_table.h"

#include <algorithm>
#include <set>
#include <string>

#include "shim/hooks/unhooked.h"
#include "tests/support/catch.h"

using namespace vramtrace::shim;

TEST_CASE("the Names definition counts the names as Event::api does") {
    const NamesText names = names_text();
    std::vector<std::string> found;
    for (const char* at = names.text; at < names.text + names.bytes; at += found.back().size() + 1)
        found.emplace_back(at);
    REQUIRE(found.size() == kFirstFrameworkName + static_cast<size_t>(FrameworkFunction::Count));
    CHECK(found[0].empty());
    CHECK(found[static_cast<size_t>(Name::cuMemAlloc_v2)] == "cuMemAlloc_v2");
    CHECK(found[static_cast<size_t>(Name::cuGetProcAddress_v2)] == "cuGetProcAddress_v2");
    CHECK(found[static_cast<size_t>(Name::cudaMalloc)] == "cudaMalloc");
    CHECK(found[static_cast<size_t>(Name::cudaEventDestroy)] == "cudaEventDestroy");
    CHECK(found[api_of(FrameworkFunction::TorchMemoryUsage)] == "c10::reportMemoryUsageToProfiler");
    CHECK(found[api_of(FrameworkFunction::TorchOutOfMemory)] == "c10::reportOutOfMemoryToProfiler");
    const auto tables_end = found.begin() + static_cast<size_t>(Name::End);
    const auto frameworks = found.begin() + kFirstFrameworkName;
    CHECK(std::set<std::string>(found.begin(), tables_end).size() == static_cast<size_t>(Name::End));
    CHECK(std::all_of(tables_end, frameworks, [](const std::string& name) { return name.empty(); }));
    CHECK(std::none_of(frameworks, found.end(), [](const std::string& name) { return name.empty(); }));
}

TEST_CASE("every name finds itself, and only whole names are found") {
    for (unsigned i = 1; i < static_cast<unsigned>(Name::End); ++i) {
        const auto name = static_cast<Name>(i);
        CHECK(name_of(name_text(name)) == name);
        const auto* names = library_of(name) == Library::Driver ? driver_names() : runtime_names();
        CHECK(std::string(names[place_of(name)]) == name_text(name));
    }
    for (const char* other :
         {"", "c", "cu", "cuMem", "cuMemAlloc_v", "cuMemAlloc_v22", "cuMemAlloc_v2 ", "cudaMallo", "cuInit", "malloc"})
        CHECK(name_of(other) == Name::None);
    CHECK(is_passed("cuMemGetInfo_v2"));
    CHECK_FALSE(is_passed("cuMemAlloc_v2"));
}

TEST_CASE("names that look like memory coming or going") {
    for (const char* name : {"cuMemAllocFancy", "cuMemFree_v7", "cuMulticastBindMem_v3", "cuMemPoolCreateShared",
                             "cuArrayCreate_v4", "cuIpcOpenMemHandle_v3", "cuMemReserveFabric"})
        CHECK(looks_like_allocation(name));
    for (const char* name : {"cuLaunchKernel", "cuMemcpyAsync", "cuMemsetD8Async", "cuStreamSynchronize", "cuInit",
                             "cuEventCreate", "cuTexObjectCreate", "cuModuleGetFunction", "malloc", ""})
        CHECK_FALSE(looks_like_allocation(name));
}
