// SPDX-License-Identifier: Apache-2.0
// What calls that make and end memory and handles mean.
#include "shim/hooks/effects/device_memory.h"

#include "shim/hooks/effects/graphs.h"
#include "shim/hooks/effects/host_memory.h"
#include "shim/hooks/effects/modules.h"
#include "shim/hooks/effects/pools.h"
#include "shim/hooks/effects/sharing.h"
#include "shim/hooks/effects/streams.h"
#include "shim/hooks/effects/virtual_memory.h"
#include "tests/support/catch.h"
#include "tests/unit/shim/hooks/fake_driver.h"

using namespace vramtrace::shim;
using vramtrace::trace::DefinitionKind;
using vramtrace::trace::EventKind;

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
    const void* rights = nullptr;
    const size_t before = recorder.events.size();
    call<virtual_memory::SetsAccess, Name::cuMemSetAccess>(DevicePointer{0xd000}, size_t{4096}, rights, size_t{1});
    CHECK(recorder.events.size() == before);  // rights move no bytes
    driver.result = [] { return 1; };
    call<virtual_memory::SetsAccess, Name::cuMemSetAccess>(DevicePointer{0xd000}, size_t{4096}, rights, size_t{1});
    driver.result = nullptr;
    CHECK(recorder.one(EventKind::CallFailed).address == 0xd000);
    CHECK(recorder.one(EventKind::CallFailed).aux == static_cast<uint64_t>(EventKind::Map));
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
