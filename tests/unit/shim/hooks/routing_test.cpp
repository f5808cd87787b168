// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/routing.h"

#include <dlfcn.h>

#include <string>

#include "shim/real/link_scope.h"
#include "tests/support/catch.h"
#include "tests/unit/shim/hooks/fake_recorder.h"

using namespace vramtrace::shim;
using vramtrace::trace::EventKind;

namespace {

struct OpenedLibrary {
    explicit OpenedLibrary(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        INFO(path);
        REQUIRE(handle != nullptr);
    }
    ~OpenedLibrary() {
        if (handle != nullptr) close();
    }
    void close() {
        dlclose(handle);
        handle = nullptr;
    }
    // Past our own dlsym: what the library really defines.
    void* real(const char* name) const {
        void* found = nullptr;
        with_loaded_objects([&](const LoadedObjects& all) {
            const auto* map = static_cast<const link_map*>(handle);
            for (const auto& object : all)
                if (object.bias == map->l_addr && object.dynamic == map->l_ld) found = DynamicTables(object).find(name);
        });
        INFO(name);
        REQUIRE(found != nullptr);
        return found;
    }
    void* handle;
};

template <typename Function>
Function* as(void* pointer) {
    return reinterpret_cast<Function*>(pointer);
}

using Alloc = int(unsigned long long*, size_t);
using AllocV1 = int(unsigned*, unsigned);
using GetProcAddress = int(const char*, void**, int, unsigned long long, int*);
using GetProcAddressV1 = int(const char*, void**, int, unsigned long long);

}  // namespace

TEST_CASE("a look-up's answer becomes the wrapper of exactly that function") {
    recorder.reset();
    const OpenedLibrary driver(DRIVER_FIRST);
    void* const real = driver.real("cuMemAlloc_v2");
    void* const wrapper = wrapper_for(real, "cuMemAlloc", 3020);
    REQUIRE(wrapper != real);
    CHECK(is_ours(wrapper));
    CHECK(wrapper_for(real, "cuMemAlloc_v2", 0) == wrapper);
    // The name may say anything: the pointer decides.
    CHECK(wrapper_for(driver.real("cuMemAlloc"), "cuMemAlloc", 2000) != wrapper);
    CHECK(wrapper_for(driver.real("cuMemAllocAsync_ptsz"), "cuMemAllocAsync", 11020) !=
          wrapper_for(driver.real("cuMemAllocAsync"), "cuMemAllocAsync", 11020));

    unsigned long long address = 0;
    CHECK(as<Alloc>(wrapper)(&address, 64) == 0);
    CHECK(address == 0x1040);
    const auto event = recorder.one(EventKind::DeviceAlloc);
    CHECK(event.api == static_cast<uint8_t>(Name::cuMemAlloc_v2));
    CHECK(event.address == 0x1040);
    CHECK(event.size == 64);

    unsigned old_address = 0;
    recorder.reset();
    CHECK(as<AllocV1>(wrapper_for(driver.real("cuMemAlloc"), "cuMemAlloc", 2000))(&old_address, 77) == 0);
    CHECK(recorder.one(EventKind::DeviceAlloc).api == static_cast<uint8_t>(Name::cuMemAlloc));
    CHECK(recorder.one(EventKind::DeviceAlloc).address == 77);
}

TEST_CASE("what is not in the tables passes untouched") {
    const OpenedLibrary driver(DRIVER_FIRST);
    for (const char* name : {"cuMemAlloc_v9", "cuMemGetInfo_v2", "cuDriverGetVersion"}) {
        void* real = driver.real(name);
        CHECK(wrapper_for(real, name, 13000) == real);
    }
    CHECK(wrapper_for(nullptr, "cuMemAlloc", 13000) == nullptr);
    CHECK(wrapper_for(driver.real("cuMemAlloc_v2"), nullptr, 0) == driver.real("cuMemAlloc_v2"));
    int local = 0;
    CHECK(wrapper_for(&local, "cuMemAlloc", 0) == &local);
}

TEST_CASE("cuGetProcAddress passes codes, status and misses through and routes what it knows") {
    const OpenedLibrary driver(DRIVER_FIRST);
    auto* ask = as<GetProcAddress>(wrapper_for(driver.real("cuGetProcAddress_v2"), "cuGetProcAddress_v2", 0));
    REQUIRE(is_ours(reinterpret_cast<void*>(ask)));
    void* const untouched = reinterpret_cast<void*>(0x77);

    void* function = untouched;
    int status = 7;
    CHECK(ask("cuMemAlloc", &function, 3020, 0, &status) == 0);
    CHECK(status == 0);
    CHECK(function == wrapper_for(driver.real("cuMemAlloc_v2"), "cuMemAlloc", 3020));
    CHECK(ask("cuMemAlloc", &function, 2000, 0, nullptr) == 0);
    CHECK(function == wrapper_for(driver.real("cuMemAlloc"), "cuMemAlloc", 2000));
    CHECK(ask("cuMemAllocAsync", &function, 11020, 2, &status) == 0);
    CHECK(function == wrapper_for(driver.real("cuMemAllocAsync_ptsz"), "cuMemAllocAsync", 11020));
    CHECK(ask("cuNothing", &function, 12000, 0, &status) == 0);
    CHECK(function == nullptr);
    CHECK(status == 1);
    CHECK(ask("", &function, 0, 0, nullptr) == 0);
    function = untouched;
    CHECK(ask("cuMemAlloc", &function, 99000, 0, &status) == 1);
    CHECK(function == untouched);
    CHECK(ask("cuMemGetInfo", &function, 3020, 0, &status) == 0);
    CHECK(function == driver.real("cuMemGetInfo_v2"));

    // Itself: as many arguments as the version has.
    CHECK(ask("cuGetProcAddress", &function, 11030, 0, nullptr) == 0);
    CHECK(function == wrapper_for(driver.real("cuGetProcAddress"), "cuGetProcAddress", 11030));
    auto* old = as<GetProcAddressV1>(function);
    CHECK(ask("cuGetProcAddress", &function, 12000, 0, nullptr) == 0);
    CHECK(function == reinterpret_cast<void*>(ask));
    function = untouched;
    CHECK(old("cuMemAlloc", &function, 3020, 0) == 0);
    CHECK(function == wrapper_for(driver.real("cuMemAlloc_v2"), "cuMemAlloc", 3020));
    function = untouched;
    CHECK(old("cuNothing", &function, 3020, 0) == 500);
    CHECK(function == untouched);
}

TEST_CASE("an unknown name that looks like an allocation is told once") {
    recorder.reset();
    const OpenedLibrary driver(DRIVER_FIRST);
    auto* ask = as<GetProcAddress>(wrapper_for(driver.real("cuGetProcAddress_v2"), "cuGetProcAddress_v2", 0));
    void* function = nullptr;
    CHECK(ask("cuMemAllocNine", &function, 13000, 0, nullptr) == 0);
    CHECK(ask("cuMemAllocNine", &function, 13000, 0, nullptr) == 0);
    CHECK(function == driver.real("cuMemAlloc_v9"));
    CHECK(recorder.count(EventKind::Unhooked) == 0);  // nothing is open yet
    unsigned long long address = 0;
    as<Alloc>(wrapper_for(driver.real("cuMemAlloc_v2"), "cuMemAlloc", 3020))(&address, 1);
    const auto event = recorder.one(EventKind::Unhooked);
    CHECK(recorder.definitions[static_cast<uint32_t>(event.aux)] == "cuMemAllocNine");
    CHECK(event.size == 13000);
}

TEST_CASE("two drivers have wrappers of their own, a third passes untouched and is told") {
    recorder.reset();
    const OpenedLibrary first(DRIVER_FIRST);
    void* const first_wrapper = wrapper_for(first.real("cuMemAlloc_v2"), "cuMemAlloc", 3020);
    const OpenedLibrary second(DRIVER_SECOND);
    void* const second_wrapper = wrapper_for(second.real("cuMemAlloc_v2"), "cuMemAlloc", 3020);
    CHECK(is_ours(second_wrapper));
    CHECK(first_wrapper != second_wrapper);
    OpenedLibrary third(DRIVER_THIRD);
    CHECK(wrapper_for(third.real("cuMemAlloc_v2"), "cuMemAlloc", 3020) == third.real("cuMemAlloc_v2"));
    unsigned long long address = 0;
    as<Alloc>(first_wrapper)(&address, 5);
    const auto event = recorder.one(EventKind::BlindSpot);
    const std::string sentence = recorder.definitions[static_cast<uint32_t>(event.aux)];
    CHECK(sentence.find("vramtrace_hooks_driver_third") != std::string::npos);
}

TEST_CASE("a driver that was unloaded makes room for another") {
    {
        const OpenedLibrary first(DRIVER_FIRST), second(DRIVER_SECOND);
        CHECK(is_ours(wrapper_for(first.real("cuMemAlloc_v2"), "cuMemAlloc", 3020)));
        CHECK(is_ours(wrapper_for(second.real("cuMemAlloc_v2"), "cuMemAlloc", 3020)));
    }
    libraries_may_have_gone();
    const OpenedLibrary third(DRIVER_THIRD);
    void* wrapper = wrapper_for(third.real("cuMemAlloc_v2"), "cuMemAlloc", 3020);
    CHECK(is_ours(wrapper));
    unsigned long long address = 0;
    CHECK(as<Alloc>(wrapper)(&address, 3) == 0);
    CHECK(address == 0x1003);
}

TEST_CASE("a runtime function that was looked up carries its label, and fails on its own") {
    recorder.reset();
    const OpenedLibrary runtime(SMALL_RUNTIME);
    void* wrapper = wrapper_for(runtime.real("cudaMalloc"), "cudaMalloc", 0);
    REQUIRE(is_ours(wrapper));
    void* other = runtime.real("cudaGetDeviceCount");
    CHECK(wrapper_for(other, "cudaGetDeviceCount", 0) == other);
    void* address = nullptr;
    CHECK(as<int(void**, size_t)>(wrapper)(&address, 12) == 0);
    CHECK(address == reinterpret_cast<void*>(12));
    CHECK(recorder.events.empty());
    CHECK(as<int(void**, size_t)>(wrapper)(&address, 2000000) == 2);
    const auto event = recorder.one(EventKind::RuntimeFailed);
    CHECK(event.label == static_cast<uint8_t>(Name::cudaMalloc));
    CHECK(event.size == 2000000);
    CHECK(event.result == 2);
}
