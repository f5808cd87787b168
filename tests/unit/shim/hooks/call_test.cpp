// SPDX-License-Identifier: Apache-2.0
// What every call does, whatever its effect: against a driver that answers as told and a recorder that remembers.
#include "shim/hooks/call.h"

#include "tests/support/catch.h"
#include "tests/unit/shim/hooks/fake_driver.h"

using namespace vramtrace::shim;
using vramtrace::trace::DefinitionKind;
using vramtrace::trace::EventKind;

TEST_CASE("an allocation is recorded after the call, with its place, and opens the trace") {
    start(handle(0x101));
    driver.during = [] { CHECK(recorder.events.empty()); };
    CHECK(allocate(0x5000, 64) == kSuccess);
    REQUIRE(recorder.events.size() >= 2);
    CHECK(recorder.events[0].kind == EventKind::ContextSeen);
    CHECK(recorder.events[0].object == 0x101);
    const auto event = recorder.one(EventKind::DeviceAlloc);
    CHECK(event.address == 0x5000);
    CHECK(event.size == 64);
    CHECK(event.device == 0);
    CHECK(event.context == recorder.events[0].context);
    CHECK(event.context != 0);
    CHECK(event.api == static_cast<uint8_t>(Name::cuMemAlloc_v2));
    bool names = false, device = false;
    for (const auto& [id, kind] : recorder.definition_kinds) {
        names |= kind == DefinitionKind::Names;
        device |= kind == DefinitionKind::Device;
    }
    CHECK(names);
    CHECK(device);
    driver.during = nullptr;
    CHECK(allocate(0x6000, 1) == kSuccess);
    CHECK(recorder.count(EventKind::ContextSeen) == 1);
}

TEST_CASE("without a context there is no place, and still an event") {
    start(nullptr);
    allocate(0x5000, 64);
    CHECK(recorder.one(EventKind::DeviceAlloc).context == 0);
    CHECK(recorder.one(EventKind::DeviceAlloc).device == vramtrace::trace::kNoDevice);
}

TEST_CASE("a failed allocation is CallFailed and nothing else; a null argument is the driver's business") {
    start();
    driver.result = [] { return 2; };
    CHECK(allocate(0, 1 << 30) == 2);
    const auto event = recorder.one(EventKind::CallFailed);
    CHECK(event.aux == static_cast<uint64_t>(EventKind::DeviceAlloc));
    CHECK(event.size == 1 << 30);
    CHECK(event.result == 2);
    CHECK(recorder.count(EventKind::DeviceAlloc) == 0);
    recorder.reset();
    driver.result = [] { return 1; };
    CHECK(call<device_memory::Allocates, Name::cuMemAlloc_v2>(static_cast<DevicePointer*>(nullptr), size_t{5}) == 1);
    CHECK(recorder.events.empty());
}

TEST_CASE("a release is recorded before the call and stands in the in-flight table during it") {
    start();
    allocate(0x5000, 64);
    driver.during = [] {
        CHECK(recorder.one(EventKind::DeviceFree).address == 0x5000);
        REQUIRE(recorder.in_flight.size() == 1);
        CHECK(recorder.in_flight[0] == recorder.one(EventKind::DeviceFree).sequence);
    };
    CHECK(free_memory(0x5000) == kSuccess);
    CHECK(recorder.in_flight[0] == 0);
    CHECK(recorder.count(EventKind::FreeFailed) == 0);
}

TEST_CASE("a refused release is taken back with its ticket, kind and code") {
    start();
    allocate(0x5000, 64);
    driver.result = [] { return 4; };  // DEINITIALIZED
    CHECK(free_memory(0x5000) == 4);
    const auto release = recorder.one(EventKind::DeviceFree);
    const auto failed = recorder.one(EventKind::FreeFailed);
    CHECK(failed.size == release.sequence);
    CHECK(failed.aux == static_cast<uint64_t>(EventKind::DeviceFree));
    CHECK(failed.address == 0x5000);
    CHECK(failed.result == 4);
}

TEST_CASE("freeing 0 says nothing, and a release alone opens no trace") {
    start();
    CHECK(free_memory(0x5000) == kSuccess);
    CHECK(recorder.events.empty());
    allocate(0x5000, 64);
    free_memory(0);
    CHECK(recorder.count(EventKind::DeviceFree) == 0);
}

TEST_CASE("a neighbour that calls the driver through us again makes no second event") {
    start();
    driver.during = [] {
        driver.during = nullptr;
        allocate(0x5000, 64);
    };
    allocate(0x5000, 64);
    CHECK(recorder.count(EventKind::DeviceAlloc) == 1);
    driver.during = [] {
        driver.during = nullptr;
        free_memory(0x5000);
    };
    free_memory(0x5000);
    CHECK(recorder.count(EventKind::DeviceFree) == 1);
    free_memory(0x5000);
    CHECK(recorder.count(EventKind::DeviceFree) == 2);  // the next one is a new release
    driver.during = [] {
        driver.during = nullptr;
        driver.result = [] { return 2; };
        allocate(0, 99);
    };
    allocate(0, 99);
    CHECK(recorder.count(EventKind::CallFailed) == 1);
}

TEST_CASE("driver work inside a call is an event of its own") {
    start();
    driver.during = [] {
        driver.during = nullptr;
        allocate(0x7000, 8);
    };
    allocate(0x5000, 64);
    CHECK(recorder.count(EventKind::DeviceAlloc) == 2);
}

TEST_CASE("calls of our own make no events") {
    start();
    ++thread_state.depth;
    allocate(0x5000, 64);
    free_memory(0x5000);
    --thread_state.depth;
    CHECK(recorder.events.empty());
    CHECK(driver.context_questions == 0);
}

TEST_CASE("the label is the outermost runtime function's") {
    start();
    {
        const LabelScope outer(Name::cudaMallocPitch);
        const LabelScope inner(Name::cudaMalloc);
        allocate(0x5000, 64);
    }
    CHECK(recorder.one(EventKind::DeviceAlloc).label == static_cast<uint8_t>(Name::cudaMallocPitch));
    CHECK(thread_state.label == vramtrace::trace::kNoName);
}
