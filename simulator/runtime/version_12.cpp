// SPDX-License-Identifier: Apache-2.0
// Functions whose parameters changed between CUDA 12 and 13, in their older form. Only in libcudart.so.12.
#include "simulator/runtime/api_call.h"

using namespace vramtrace::simulator::runtime;

extern "C" {

cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, const cudaGraphEdgeData*, size_t,
                                cudaGraphNodeParams*);

cudaError_t cudaMemAdvise(const void* pointer, size_t count, cudaMemoryAdvise advice, int device) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemAdvise_v8000(device_address(pointer), count, static_cast<CUmem_advise>(advice), device);
    });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t count, int device, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemPrefetchAsync_v8000(device_address(pointer), count, device, stream);
    });
}

cudaError_t cudaMemPrefetchAsync_ptsz(const void* pointer, size_t count, int device, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemPrefetchAsync_v8000_ptsz(device_address(pointer), count, device, stream);
    });
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                        cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuStreamGetCaptureInfo_v11030(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                                    reinterpret_cast<cuuint64_t*>(id), graph, dependencies, count);
    });
}

cudaError_t cudaStreamGetCaptureInfo_v2_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                             unsigned long long* id, cudaGraph_t* graph,
                                             const cudaGraphNode_t** dependencies, size_t* count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuStreamGetCaptureInfo_v11030_ptsz(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                                         reinterpret_cast<cuuint64_t*>(id), graph, dependencies, count);
    });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     size_t count) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphAddDependencies_v10000(graph, from, to, count); });
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        size_t count) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphRemoveDependencies_v10000(graph, from, to, count); });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphGetEdges_v10000(graph, from, to, count); });
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             size_t count, cudaGraphNodeParams* parameters) {
    return cudaGraphAddNode_v2(node, graph, dependencies, nullptr, count, parameters);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuStreamGetCaptureInfo_v10010(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                                    reinterpret_cast<cuuint64_t*>(id));
    });
}

cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                          unsigned long long* id) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuStreamGetCaptureInfo_v10010_ptsz(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                                         reinterpret_cast<cuuint64_t*>(id));
    });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* count) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphNodeGetDependencies_v10000(node, dependencies, count); });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* dependents, size_t* count) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphNodeGetDependentNodes_v10000(node, dependents, count); });
}

cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuEventElapsedTime_v12080(milliseconds, start, end); });
}

cudaError_t cudaThreadExit() {
    return cudaDeviceReset();
}
cudaError_t cudaThreadSynchronize() {
    return cudaDeviceSynchronize();
}

}  // extern "C"
