// SPDX-License-Identifier: Apache-2.0
#include "simulated_machine.h"

namespace {

CUgraph new_graph() {
    CUgraph graph = nullptr;
    REQUIRE(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
    return graph;
}

CUdeviceptr add_allocation(CUgraph graph, size_t bytes, CUgraphNode* node) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    parameters.bytesize = bytes;
    REQUIRE(cuGraphAddMemAllocNode(node, graph, nullptr, 0, &parameters) == CUDA_SUCCESS);
    REQUIRE(parameters.dptr != 0);
    return parameters.dptr;
}

CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
    CUgraphExec exec = nullptr;
    REQUIRE(cuGraphInstantiate(&exec, graph, flags) == CUDA_SUCCESS);
    return exec;
}

uint64_t graph_reserved() {
    cuuint64_t value = 0;
    REQUIRE(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &value) == CUDA_SUCCESS);
    return value;
}

uint64_t live() {
    return live_bytes(VRAMTRACE_SIM_GRAPH_MEMORY);
}

}  // namespace

TEST_CASE("graph memory lives from the launch to its free, and its pages until they are trimmed") {
    const PrimaryContext context;
    const CUgraph graph = new_graph();
    CUgraphNode node = nullptr;
    const CUdeviceptr memory = add_allocation(graph, 3 * kMiB, &node);
    CHECK(live() == 0);
    CHECK(used_bytes() == kContextBytes);
    const CUgraphExec exec = instantiate(graph);
    CHECK(live() == 0);
    CUgraphExec second = nullptr;
    CHECK(cuGraphInstantiate(&second, graph, 0) != CUDA_SUCCESS);
    CUgraph clone = nullptr;
    CHECK(cuGraphClone(&clone, graph) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(cuGraphDestroyNode(node) == CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    CHECK(live() == 3 * kMiB);
    CHECK(used_bytes() == kContextBytes + 4 * kMiB);
    CHECK(cuMemsetD8(memory, 1, 3 * kMiB) == CUDA_SUCCESS);
    CHECK(cuGraphLaunch(exec, nullptr) == CUDA_ERROR_INVALID_VALUE);  // not freed since
    SECTION("freed by the program") {
        CHECK(cuMemFree(memory) == CUDA_SUCCESS);
    }
    SECTION("freed in a stream") {
        CHECK(cuMemFreeAsync(memory, nullptr) == CUDA_SUCCESS);
    }
    SECTION("freed by another graph") {
        const CUgraph other = new_graph();
        CUgraphNode free_node = nullptr;
        REQUIRE(cuGraphAddMemFreeNode(&free_node, other, nullptr, 0, memory) == CUDA_SUCCESS);
        const CUgraphExec freer = instantiate(other);
        CHECK(cuGraphLaunch(freer, nullptr) == CUDA_SUCCESS);
        CHECK(cuGraphExecDestroy(freer) == CUDA_SUCCESS);
        CHECK(cuGraphDestroy(other) == CUDA_SUCCESS);
    }
    SECTION("it outlives the graph") {
        CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
        CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
        CHECK(live() == 3 * kMiB);
        CHECK(cuMemFree(memory) == CUDA_SUCCESS);
        CHECK(live() == 0);
        CHECK(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);
        return;
    }
    CHECK(live() == 0);
    CHECK(graph_reserved() == 4 * kMiB);
    REQUIRE(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    CHECK(graph_reserved() == 4 * kMiB);
    CHECK(cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_GRAPH) == 0);
    CHECK(live_count(VRAMTRACE_SIM_GRAPH_EXEC) == 0);
}

TEST_CASE("auto free at launch frees what the last launch left") {
    const PrimaryContext context;
    const CUgraph graph = new_graph();
    CUgraphNode node = nullptr;
    const CUdeviceptr memory = add_allocation(graph, kMiB, &node);
    const CUgraphExec exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    // Destroying the graph once it is instantiated is the usual way.
    CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
        CHECK(live() == kMiB);
        CHECK(live_count(VRAMTRACE_SIM_GRAPH_MEMORY) == 1);
    }
    CHECK(totals(VRAMTRACE_SIM_GRAPH_MEMORY).created_count >= 3);
    CHECK(cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    CHECK(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);
}

TEST_CASE("a launch that does not fit leaves nothing behind") {
    const PrimaryContext context;
    const CUgraph graph = new_graph();
    CUgraphNode first = nullptr;
    CUgraphNode second = nullptr;
    add_allocation(graph, 600 * kMiB, &first);
    add_allocation(graph, 600 * kMiB, &second);
    const CUgraphExec exec = instantiate(graph);
    CHECK(cuGraphLaunch(exec, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(live() == 0);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes);
}

TEST_CASE("the generic node function makes allocation and free nodes too") {
    const PrimaryContext context;
    const CUgraph graph = new_graph();
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    parameters.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    parameters.alloc.bytesize = 1000;
    CUgraphNode alloc = nullptr;
    REQUIRE(cuGraphAddNode(&alloc, graph, nullptr, nullptr, 0, &parameters) == CUDA_SUCCESS);
    CUgraphNodeParams free{};
    free.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    free.free.dptr = parameters.alloc.dptr;
    CUgraphNode node = nullptr;
    REQUIRE(cuGraphAddNode(&node, graph, &alloc, nullptr, 1, &free) == CUDA_SUCCESS);
    CHECK(cuGraphAddNode(&node, graph, &alloc, nullptr, 1, &free) == CUDA_ERROR_INVALID_VALUE);  // freed twice
    size_t nodes = 0;
    CHECK(cuGraphGetNodes(graph, nullptr, &nodes) == CUDA_SUCCESS);
    CHECK(nodes == 2);
    const CUgraphExec exec = instantiate(graph);
    vramtrace_sim_reset_peaks();
    CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    CHECK(live() == 0);
    CHECK(totals(VRAMTRACE_SIM_GRAPH_MEMORY).peak_bytes == 1000);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);
}

TEST_CASE("a captured allocation is a node: nothing is live before the launch") {
    const PrimaryContext context;
    CUstream stream = nullptr;
    REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    REQUIRE(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAllocAsync(&memory, 5000, stream) == CUDA_SUCCESS);
    CHECK(cuMemsetD8Async(memory, 9, 5000, stream) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_STREAM_ORDERED) == 0);
    CHECK(live() == 0);
    CUgraph graph = nullptr;
    REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(graph);
    REQUIRE(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
    CHECK(live() == 5000);
    unsigned char last = 0;
    CHECK(cuMemcpyDtoH(&last, memory + 4999, 1) == CUDA_SUCCESS);
    CHECK(last == 9);
    CHECK(cuMemFreeAsync(memory, stream) == CUDA_SUCCESS);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);
}

TEST_CASE("calls that break a capture, and calls that do not, as measured") {
    const PrimaryContext context;
    CUstream stream = nullptr;
    CUstream other = nullptr;
    REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    REQUIRE(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAlloc(&memory, 100) == CUDA_SUCCESS);
    CUmemoryPool pool = nullptr;
    REQUIRE(cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_SUCCESS);
    REQUIRE(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);

    SECTION("safe") {
        size_t a = 0;
        size_t b = 0;
        CUdevice device = 0;
        CUcontext current = nullptr;
        unsigned int type = 0;
        cuuint64_t value = 0;
        unsigned int flags = 0;
        int active = 0;
        CUstreamCaptureStatus status{};
        CUmemGenericAllocationHandle handle = 0;
        const auto properties = on_device(0);
        CUdeviceptr range = 0;
        CHECK(cuMemGetInfo(&a, &b) == CUDA_SUCCESS);
        CHECK(cuCtxGetDevice(&device) == CUDA_SUCCESS);
        CHECK(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
        CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory) == CUDA_SUCCESS);
        CHECK(cuMemGetAddressRange(&range, &a, memory) == CUDA_SUCCESS);
        CHECK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value) == CUDA_SUCCESS);
        CHECK(cuDeviceTotalMem(&a, 0) == CUDA_SUCCESS);
        CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active) == CUDA_SUCCESS);
        CHECK(cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
        CHECK(cuMemAddressReserve(&range, 2 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
        CHECK(cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS);
        CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
        CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
        CHECK(cuMemAddressFree(range, 2 * kMiB) == CUDA_SUCCESS);
        CUgraph graph = nullptr;
        CHECK(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
        CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    }
    SECTION("unsafe") {
        CUdeviceptr made = 0;
        void* host = nullptr;
        cuuint64_t value = 0;
        CUarray array = nullptr;
        const CUDA_ARRAY3D_DESCRIPTOR shape{8, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0};
        const int which = GENERATE(range(0, 9));
        CAPTURE(which);
        CUresult result = CUDA_SUCCESS;
        switch (which) {
            case 0:
                result = cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value);
                break;
            case 1:
                result = cuMemAlloc(&made, 1);
                break;
            case 2:
                result = cuMemFree(memory);
                break;
            case 3:
                result = cuMemAllocAsync(&made, 1, other);
                break;
            case 4:
                result = cuMemHostAlloc(&host, 1, 0);
                break;
            case 5:
                result = cuMemAllocManaged(&made, 1, CU_MEM_ATTACH_GLOBAL);
                break;
            case 6:
                result = cuArray3DCreate(&array, &shape);
                break;
            case 7:
                result = cuMemPoolTrimTo(pool, 0);
                break;
            default:
                result = cuCtxSynchronize();
                break;
        }
        CHECK(result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CHECK(live_bytes(VRAMTRACE_SIM_DEVICE) == 100);
        CHECK(cuMemAlloc(&made, 1) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CHECK(cuMemAllocAsync(&made, 1, stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CUgraph graph = reinterpret_cast<CUgraph>(1);
        CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CHECK(graph == nullptr);
    }
    SECTION("unsafe, but this thread said that it does not care") {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
        CHECK(cuMemFree(memory) == CUDA_SUCCESS);
        CHECK(cuMemAlloc(&memory, 100) == CUDA_SUCCESS);
        CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
        CUgraph graph = nullptr;
        CHECK(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
        CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    }
    CHECK(cuMemFree(memory) == CUDA_SUCCESS);
}

TEST_CASE("events carry a capture to another stream and back") {
    const PrimaryContext context;
    CUstream first = nullptr;
    CUstream second = nullptr;
    CUevent fork = nullptr;
    CUevent join = nullptr;
    REQUIRE(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    REQUIRE(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    REQUIRE(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    REQUIRE(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    REQUIRE(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAllocAsync(&memory, 64, first) == CUDA_SUCCESS);
    REQUIRE(cuEventRecord(fork, first) == CUDA_SUCCESS);
    REQUIRE(cuStreamWaitEvent(second, fork, 0) == CUDA_SUCCESS);
    CHECK(cuMemsetD8Async(memory, 1, 64, second) == CUDA_SUCCESS);
    CUgraph graph = nullptr;
    SECTION("joined") {
        REQUIRE(cuEventRecord(join, second) == CUDA_SUCCESS);
        REQUIRE(cuStreamWaitEvent(first, join, 0) == CUDA_SUCCESS);
        CHECK(cuMemFreeAsync(memory, first) == CUDA_SUCCESS);
        CHECK(cuStreamEndCapture(first, &graph) == CUDA_SUCCESS);
        size_t edges = 0;
        CHECK(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges) == CUDA_SUCCESS);
        CHECK(edges == 3);
        CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    }
    SECTION("not joined") {
        CHECK(cuStreamEndCapture(first, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    }
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CHECK(cuStreamIsCapturing(second, &status) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_CASE("copies, fills and host functions in a graph happen at launch") {
    const PrimaryContext context;
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAlloc(&memory, 4) == CUDA_SUCCESS);
    const CUgraph graph = new_graph();
    CUDA_MEMSET_NODE_PARAMS fill{memory, 0, 0x11223344, 4, 1, 1};
    CUgraphNode filled = nullptr;
    REQUIRE(cuGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill, context.context) == CUDA_SUCCESS);
    static int calls = 0;
    CUDA_HOST_NODE_PARAMS host{};
    host.fn = [](void* count) { ++*static_cast<int*>(count); };
    host.userData = &calls;
    CUgraphNode hosted = nullptr;
    REQUIRE(cuGraphAddHostNode(&hosted, graph, &filled, 1, &host) == CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(graph);
    CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    unsigned int value = 0;
    CHECK(cuMemcpyDtoH(&value, memory, 4) == CUDA_SUCCESS);
    CHECK(value == 0x11223344);
    CHECK(calls == 1);
    CUgraph clone = nullptr;
    REQUIRE(cuGraphClone(&clone, graph) == CUDA_SUCCESS);
    CUgraphNode twin = nullptr;
    CHECK(cuGraphNodeFindInClone(&twin, hosted, clone) == CUDA_SUCCESS);
    CHECK(twin != hosted);
    CHECK(cuGraphDestroy(clone) == CUDA_SUCCESS);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
}
