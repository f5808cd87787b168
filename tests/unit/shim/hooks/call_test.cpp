// SPDX-License-Identifier: Apache-2.0
// What calls mean: each effect against a driver made of lambdas and a recorder that remembers.
#include "shim/hooks/call.h"

#include <functional>

#include "shim/hooks/effects/arrays.h"
#include "shim/hooks/effects/contexts.h"
#include "shim/hooks/effects/device_memory.h"
#include "shim/hooks/effects/graphs.h"
#include "shim/hooks/effects/host_memory.h"
#include "shim/hooks/effects/modules.h"
#include "shim/hooks/effects/pools.h"
#include "shim/hooks/effects/sharing.h"
#include "shim/hooks/effects/streams.h"
#include "shim/hooks/effects/virtual_memory.h"
#include "shim/hooks/wrapper.h"
#include "tests/support/catch.h"
#include "tests/unit/shim/hooks/fake_recorder.h"

using namespace vramtrace::shim;
using vramtrace::trace::DefinitionKind;
using vramtrace::trace::EventKind;

namespace {

// The driver as the tests see it.
struct {
    Handle current = nullptr;
    int device = 0;
    int pointer_device = 0;
    Enum capture_status = 0;
    Handle capture_graph = nullptr;
    Handle capture_node = nullptr;
    int pool_questions = 0;
    int context_questions = 0;
    std::function<Result()> result;
    std::function<void()> during;  // what happens inside the real call
} driver;

const DriverCalls kCalls = [] {
    DriverCalls calls{};
    calls.ctx_get_current = [](Handle* context) {
        ++driver.context_questions;
        *context = driver.current;
        return 0;
    };
    calls.ctx_get_device = [](Ordinal* device) {
        *device = driver.device;
        return 0;
    };
    calls.mem_get_info = [](size_t* free_bytes, size_t* total) {
        *free_bytes = 10;
        *total = 100;
        return 0;
    };
    calls.pointer_get_attribute = [](void* data, Enum, DevicePointer) {
        *static_cast<int*>(data) = driver.pointer_device;
        return 0;
    };
    calls.device_get_name = [](char* name, int, Ordinal) {
        name[0] = 'G';
        name[1] = '\0';
        return 0;
    };
    calls.device_get_mem_pool = [](Handle* pool, Ordinal) {
        *pool = reinterpret_cast<Handle>(0x900);
        return 0;
    };
    calls.pool_get_attribute = [](Handle, Enum attribute, void* value) {
        ++driver.pool_questions;
        *static_cast<uint64_t*>(value) = attribute == kPoolReservedNow ? 32 : 16;
        return 0;
    };
    calls.stream_is_capturing = [](Handle, Enum* status) {
        *status = driver.capture_status;
        return 0;
    };
    calls.stream_get_capture_info = [](Handle, Enum* status, uint64_t*, Handle* graph, const Handle** nodes,
                                       size_t* count) {
        *status = driver.capture_status;
        *graph = driver.capture_graph;
        *nodes = &driver.capture_node;
        *count = 1;
        return 0;
    };
    calls.mem_get_address_range = [](DevicePointer* base, size_t* bytes, DevicePointer address) {
        *base = address;
        *bytes = 4096;
        return 0;
    };
    return calls;
}();

void start(Handle context = reinterpret_cast<Handle>(0x100)) {
    recorder.reset();
    driver = {};
    driver.current = context;
}

Handle handle(uintptr_t value) {
    return reinterpret_cast<Handle>(value);
}

Result answer() {
    if (driver.during) driver.during();
    return driver.result ? driver.result() : kSuccess;
}

// Calls the one wrapper body with a real function that answers as `driver` says.
template <typename Effect, Name kName, typename... Arguments>
Result call(Arguments... arguments) {
    Result (*real)(Arguments...) = [](Arguments...) { return answer(); };
    return DriverWrapper<Effect, kName>{reinterpret_cast<void*>(real), kCalls}(arguments...);
}

Result allocate(DevicePointer address, size_t bytes) {
    DevicePointer result = address;
    return call<device_memory::Allocates, Name::cuMemAlloc_v2>(&result, bytes);
}

Result free_memory(DevicePointer address) {
    return call<device_memory::Frees, Name::cuMemFree_v2>(address);
}

}  // namespace

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

TEST_CASE("a pitched allocation counts pitch times height") {
    start();
    DevicePointer address = 0x8000;
    size_t pitch = 512;
    call<device_memory::AllocatesPitched, Name::cuMemAllocPitch_v2>(&address, &pitch, size_t{100}, size_t{7}, 4U);
    CHECK(recorder.one(EventKind::DeviceAlloc).size == 512 * 7);
    driver.result = [] { return 2; };
    call<device_memory::AllocatesPitched, Name::cuMemAllocPitch_v2>(&address, &pitch, size_t{100}, size_t{7}, 4U);
    CHECK(recorder.one(EventKind::CallFailed).size == 700);
}

TEST_CASE("stream-ordered memory lies on its pool's device, and pools are asked once a second") {
    start();
    driver.pointer_device = 3;
    DevicePointer address = 0x9000;
    call<pools::AllocatesFrom<false>, Name::cuMemAllocFromPoolAsync>(&address, size_t{10}, handle(0x77), handle(0x88));
    const auto event = recorder.one(EventKind::PoolAlloc);
    CHECK(event.device == 3);
    CHECK(event.object == 0x77);
    CHECK(event.aux == 0x88);
    const auto info = recorder.one(EventKind::PoolInfo);
    CHECK(info.object == 0x77);
    CHECK(info.size == 32);
    CHECK(info.aux == 16);
    call<pools::AllocatesFrom<false>, Name::cuMemAllocFromPoolAsync>(&address, size_t{10}, handle(0x77), handle(0x88));
    CHECK(recorder.count(EventKind::PoolInfo) == 1);
    call<pools::Frees<false>, Name::cuMemFreeAsync>(address, handle(0x88));
    CHECK(recorder.one(EventKind::PoolFree).address == 0x9000);
}

TEST_CASE("captured stream-ordered memory belongs to the graph, and pools are not asked meanwhile") {
    start();
    DevicePointer address = 0xa000;
    driver.capture_status = kCaptureActive;
    driver.capture_graph = handle(0x61);
    driver.capture_node = handle(0x62);
    driver.pointer_device = 5;
    allocate(0x1, 1);
    call<streams::BeginsCapture<false>, Name::cuStreamBeginCapture_v2>(handle(0x88), Enum{0});
    CHECK(captures_active());
    call<pools::Allocates<false>, Name::cuMemAllocAsync>(&address, size_t{10}, handle(0x88));
    const auto event = recorder.one(EventKind::GraphAlloc);
    CHECK(event.object == 0x61);
    CHECK(event.aux == 0x62);
    CHECK(recorder.count(EventKind::PoolAlloc) == 0);
    call<pools::Frees<false>, Name::cuMemFreeAsync>(address, handle(0x88));
    CHECK(recorder.one(EventKind::GraphFree).object == 0x61);
    // The legacy stream cannot be captured: this one is real memory, but its pool is not asked now.
    call<pools::Allocates<false>, Name::cuMemAllocAsync>(&address, size_t{10}, handle(0));
    CHECK(recorder.count(EventKind::PoolAlloc) == 1);
    CHECK(driver.pool_questions == 0);
    Handle graph = handle(0x61);
    call<streams::EndsCapture<false>, Name::cuStreamEndCapture>(handle(0x88), &graph);
    CHECK_FALSE(captures_active());
    CHECK(recorder.one(EventKind::CaptureEnd).object == 0x61);
}

TEST_CASE("captures that fail to begin or end invalid leave the count right") {
    start();
    driver.result = [] { return 900; };
    call<streams::BeginsCapture<false>, Name::cuStreamBeginCapture_v2>(handle(0x88), Enum{0});
    CHECK_FALSE(captures_active());
    driver.result = nullptr;
    call<streams::BeginsCapture<false>, Name::cuStreamBeginCapture_v2>(handle(0x88), Enum{0});
    driver.result = [] { return 901; };
    Handle graph = nullptr;
    driver.capture_status = 0;  // not this stream
    call<streams::EndsCapture<false>, Name::cuStreamEndCapture>(handle(0x89), &graph);
    CHECK(captures_active());
    driver.capture_status = 2;  // invalidated
    call<streams::EndsCapture<false>, Name::cuStreamEndCapture>(handle(0x88), &graph);
    CHECK_FALSE(captures_active());
}

TEST_CASE("graph launches are recorded once a graph owns memory, without a stack") {
    start();
    allocate(0x1, 1);
    graph_memory_used = false;
    call<graphs::Launches, Name::cuGraphLaunch>(handle(0x31), handle(0x32));
    CHECK(recorder.count(EventKind::GraphLaunch) == 0);
    GraphAllocParameters parameters{};
    parameters.bytes = 256;
    parameters.address = 0xb000;
    Handle node = handle(0x33);
    call<graphs::AddsAllocation, Name::cuGraphAddMemAllocNode>(&node, handle(0x30), static_cast<const Handle*>(nullptr),
                                                               size_t{0}, &parameters);
    const auto event = recorder.one(EventKind::GraphAlloc);
    CHECK(event.address == 0xb000);
    CHECK(event.size == 256);
    CHECK(event.object == 0x30);
    CHECK(event.aux == 0x33);
    call<graphs::Launches, Name::cuGraphLaunch>(handle(0x31), handle(0x32));
    REQUIRE(recorder.count(EventKind::GraphLaunch) == 1);
    CHECK(recorder.stacks.back() == WithStack::No);
}

TEST_CASE("a node of any type is what its type says") {
    start();
    GraphNodeParameters parameters{};
    parameters.type = kNodeAlloc;
    parameters.alloc.bytes = 99;
    parameters.alloc.address = 0xb100;
    Handle node = handle(0x33);
    const Handle* none = nullptr;
    call<graphs::AddsNode, Name::cuGraphAddNode>(&node, handle(0x30), none, size_t{0}, &parameters);
    CHECK(recorder.one(EventKind::GraphAlloc).size == 99);
    parameters.type = kNodeFree;
    parameters.free_address = 0xb100;
    const void* edges = nullptr;
    call<graphs::AddsNodeWithEdges, Name::cuGraphAddNode_v2>(&node, handle(0x30), none, edges, size_t{0}, &parameters);
    CHECK(recorder.one(EventKind::GraphFree).address == 0xb100);
    parameters.type = kNodeChildGraph;
    parameters.child_graph = handle(0x44);
    call<graphs::AddsNode, Name::cuGraphAddNode>(&node, handle(0x30), none, size_t{0}, &parameters);
    CHECK(recorder.one(EventKind::GraphChild).aux == 0x44);
    parameters.type = 0;  // a kernel
    const size_t before = recorder.events.size();
    call<graphs::AddsNode, Name::cuGraphAddNode>(&node, handle(0x30), none, size_t{0}, &parameters);
    CHECK(recorder.events.size() == before);
}

TEST_CASE("a context gets an index at creation, loses it at its end, and a reused handle gets a new one") {
    start(nullptr);
    Handle context = handle(0x200);
    call<contexts::Creates, Name::cuCtxCreate_v2>(&context, Flags{0}, Ordinal{0});
    const auto created = recorder.one(EventKind::ContextCreate);
    CHECK(created.object == 0x200);
    CHECK(created.device == 0);
    driver.current = context;
    allocate(0x5000, 1);
    CHECK(recorder.one(EventKind::DeviceAlloc).context == created.context);
    CHECK(recorder.count(EventKind::ContextSeen) == 0);

    driver.result = [] { return 201; };
    call<contexts::Destroys, Name::cuCtxDestroy_v2>(context);
    CHECK(recorder.one(EventKind::FreeFailed).aux == static_cast<uint64_t>(EventKind::ContextDestroy));
    driver.result = nullptr;
    recorder.events.clear();
    allocate(0x6000, 1);  // the refused destroy changed nothing
    CHECK(recorder.one(EventKind::DeviceAlloc).context == created.context);

    recorder.events.clear();
    call<contexts::Destroys, Name::cuCtxDestroy_v2>(context);
    CHECK(recorder.one(EventKind::ContextDestroy).context == created.context);
    call<contexts::Creates, Name::cuCtxCreate_v2>(&context, Flags{0}, Ordinal{0});
    CHECK(recorder.one(EventKind::ContextCreate).context != created.context);
    call<contexts::Destroys, Name::cuCtxDestroy_v2>(context);
}

TEST_CASE("only the last detach ends a context") {
    start(nullptr);
    Handle context = handle(0x210);
    call<contexts::Creates, Name::cuCtxCreate>(&context, Flags{0}, Ordinal{0});
    call<contexts::Attaches, Name::cuCtxAttach>(&context, Flags{0});
    call<contexts::Detaches, Name::cuCtxDetach>(context);
    CHECK(recorder.count(EventKind::ContextDestroy) == 0);
    call<contexts::Detaches, Name::cuCtxDetach>(context);
    CHECK(recorder.count(EventKind::ContextDestroy) == 1);
}

TEST_CASE("a primary context lives from its first retain to its last release or its reset") {
    start(nullptr);
    Handle context = handle(0x220);
    const auto retain = [&] { call<contexts::RetainsPrimary, Name::cuDevicePrimaryCtxRetain>(&context, Ordinal{1}); };
    const auto release = [] { call<contexts::ReleasesPrimary, Name::cuDevicePrimaryCtxRelease>(Ordinal{1}); };
    retain();
    retain();
    const auto created = recorder.one(EventKind::ContextCreate);
    CHECK(created.device == 1);
    CHECK(recorder.count(EventKind::PrimaryRetain) == 2);
    release();
    driver.current = context;
    driver.device = 1;
    allocate(0x5000, 1);
    CHECK(recorder.one(EventKind::DeviceAlloc).context == created.context);
    CHECK(recorder.count(EventKind::ContextSeen) == 0);
    release();
    CHECK(recorder.count(EventKind::PrimaryRelease) == 2);
    recorder.events.clear();
    retain();
    const auto again = recorder.one(EventKind::ContextCreate);
    CHECK(again.context != created.context);
    call<contexts::ResetsPrimary, Name::cuDevicePrimaryCtxReset>(Ordinal{1});
    CHECK(recorder.one(EventKind::PrimaryReset).context == again.context);
    allocate(0x5000, 1);
    CHECK(recorder.one(EventKind::ContextSeen).object == 0x220);
}

TEST_CASE("virtual memory: handles, ranges and mappings") {
    start();
    MemoryHandle memory = 0x40;
    PhysicalProperties properties{};
    properties.location = {kLocationDevice, 2};
    call<virtual_memory::Creates, Name::cuMemCreate>(&memory, size_t{2} << 20,
                                                     static_cast<const PhysicalProperties*>(&properties), LongFlags{0});
    const auto created = recorder.one(EventKind::PhysicalCreate);
    CHECK(created.object == 0x40);
    CHECK(created.size == 2 << 20);
    CHECK(created.device == 2);
    CHECK(created.aux == (uint64_t{1} << 32 | 2));
    call<virtual_memory::Maps, Name::cuMemMap>(DevicePointer{0xd000}, size_t{4096}, size_t{64}, memory, LongFlags{0});
    CHECK(recorder.one(EventKind::Map).object == 0x40);
    CHECK(recorder.one(EventKind::Map).aux == 64);
    driver.during = [] { CHECK(recorder.count(EventKind::Unmap) == 1); };
    call<virtual_memory::Unmaps, Name::cuMemUnmap>(DevicePointer{0xd000}, size_t{4096});
    driver.during = [] { CHECK(recorder.count(EventKind::PhysicalRelease) == 1); };
    call<virtual_memory::Releases, Name::cuMemRelease>(memory);
}

TEST_CASE("shared memory carries the handle's bytes") {
    start();
    IpcHandle shared{};
    for (int i = 0; i < 64; ++i) shared.bytes[i] = static_cast<char>(i);
    DevicePointer address = 0xe000;
    call<sharing::Opens, Name::cuIpcOpenMemHandle_v2>(&address, shared, Flags{1});
    const auto opened = recorder.one(EventKind::IpcOpen);
    CHECK(opened.size == 4096);
    REQUIRE(recorder.definitions.count(static_cast<uint32_t>(opened.aux)) == 1);
    CHECK(recorder.definitions[static_cast<uint32_t>(opened.aux)] == std::string(shared.bytes, 64));
    call<sharing::Exports, Name::cuIpcGetMemHandle>(&shared, address);
    CHECK(recorder.one(EventKind::IpcExport).aux == opened.aux);
}

TEST_CASE("things without memory of their own open no trace") {
    start();
    Handle thing = handle(0x51);
    call<streams::Creates, Name::cuStreamCreate>(&thing, Flags{0});
    call<streams::CreatesEvent, Name::cuEventCreate>(&thing, Flags{0});
    call<modules::Loads, Name::cuModuleLoadData>(&thing, static_cast<const void*>(nullptr));
    call<pools::Trims, Name::cuMemPoolTrimTo>(handle(1), size_t{0});
    CHECK(recorder.events.empty());
    CHECK(driver.context_questions == 0);
    allocate(0x5000, 1);
    call<streams::Creates, Name::cuStreamCreate>(&thing, Flags{3});
    CHECK(recorder.one(EventKind::StreamCreate).aux == 3);
}

TEST_CASE("pool attributes are read with their own widths") {
    start();
    allocate(1, 1);
    uint64_t threshold = 0x1'0000'0001;
    call<pools::SetsAttribute, Name::cuMemPoolSetAttribute>(handle(0x70), Enum{4}, static_cast<void*>(&threshold));
    CHECK(recorder.one(EventKind::PoolSetAttribute).size == threshold);
    recorder.events.clear();
    int reuse[2] = {1, -1};
    call<pools::SetsAttribute, Name::cuMemPoolSetAttribute>(handle(0x70), Enum{1}, static_cast<void*>(reuse));
    CHECK(recorder.one(EventKind::PoolSetAttribute).size == 1);
}
