// SPDX-License-Identifier: Apache-2.0
// Functions whose meaning or parameters changed between CUDA 12 and 13, in their older form, and the names with which
// CUDA 12 introduced the newer one. Only in libcudart.so.12.
#include "simulator/runtime/api_call.h"

using namespace vramtrace::simulator::runtime;

namespace {

CUmemLocation driver_location(const cudaMemLocation& location) {
    CUmemLocation result = {};
    result.type = static_cast<CUmemLocationType>(location.type);
    result.id = location.id;
    return result;
}

}  // namespace

extern "C" {

cudaError_t cudaMemAdvise(const void* pointer, size_t count, cudaMemoryAdvise advice, int device) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemAdvise_v8000(device_address(pointer), count, static_cast<CUmem_advise>(advice), device);
    });
}

cudaError_t cudaMemAdvise_v2(const void* pointer, size_t count, cudaMemoryAdvise advice, cudaMemLocation location) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemAdvise_v12020(device_address(pointer), count, static_cast<CUmem_advise>(advice),
                                         driver_location(location));
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

cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t count, cudaMemLocation location, unsigned int flags,
                                    cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemPrefetchAsync_v12020(device_address(pointer), count, driver_location(location), flags,
                                                stream);
    });
}

cudaError_t cudaMemPrefetchAsync_v2_ptsz(const void* pointer, size_t count, cudaMemLocation location,
                                         unsigned int flags, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuMemPrefetchAsync_v12020_ptsz(device_address(pointer), count, driver_location(location), flags,
                                                     stream);
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

}  // extern "C"
