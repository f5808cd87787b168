// SPDX-License-Identifier: Apache-2.0
// Graphs: life, structure, instances, memory of the device's graph pool.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

#include "simulator/runtime/names_12.h"

using namespace vramtrace::simulator::runtime;

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) { return driver.cuGraphCreate_v10000(graph, flags); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return with_context([&](const DriverCalls& driver) { return driver.cuGraphDestroy_v10000(graph); });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
    return with_context([&](const DriverCalls& driver) { return driver.cuGraphClone_v10000(clone, original); });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
    return with_context([&](const DriverCalls& driver) { return driver.cuGraphDestroyNode_v10000(node); });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphNodeFindInClone_v10000(node, original, clone); });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType* type) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphNodeGetType_v10000(node, reinterpret_cast<CUgraphNodeType*>(type));
    });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return with_context([&](const DriverCalls& driver) { return driver.cuGraphGetNodes_v10000(graph, nodes, count); });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphGetRootNodes_v10000(graph, nodes, count); });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* edges, size_t count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphAddDependencies_v12030(graph, from, to, reinterpret_cast<const CUgraphEdgeData*>(edges),
                                                    count);
    });
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData* edges, size_t count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphRemoveDependencies_v12030(graph, from, to, reinterpret_cast<const CUgraphEdgeData*>(edges),
                                                       count);
    });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                              size_t* count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphGetEdges_v12030(graph, from, to, reinterpret_cast<CUgraphEdgeData*>(edges), count);
    });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies, cudaGraphEdgeData* edges,
                                         size_t* count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphNodeGetDependencies_v12030(node, dependencies, reinterpret_cast<CUgraphEdgeData*>(edges),
                                                        count);
    });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* dependents, cudaGraphEdgeData* edges,
                                           size_t* count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphNodeGetDependentNodes_v12030(node, dependents, reinterpret_cast<CUgraphEdgeData*>(edges),
                                                          count);
    });
}

// ---- instances ----

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphInstantiateWithFlags_v11040(executable, graph, flags); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    return with_context([&](const DriverCalls& driver) { return driver.cuGraphExecDestroy_v10000(executable); });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphExecGetFlags_v12000(executable, reinterpret_cast<cuuint64_t*>(flags));
    });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* information) {
    return with_context([&](const DriverCalls& driver) {
        CUgraphExecUpdateResultInfo answer = {};
        const CUresult result = driver.cuGraphExecUpdate_v12000(executable, graph, &answer);
        if (information != nullptr) {
            information->result = static_cast<cudaGraphExecUpdateResult>(answer.result);
            information->errorNode = answer.errorNode;
            information->errorFromNode = answer.errorFromNode;
        }
        return result;
    });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int enabled) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphNodeSetEnabled_v11060(executable, node, enabled); });
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int* enabled) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphNodeGetEnabled_v11060(executable, node, enabled); });
}

// ---- user objects ----

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy, unsigned int count,
                                 unsigned int flags) {
    return with_driver([&](const DriverCalls& driver) {
        return driver.cuUserObjectCreate_v11030(object, pointer, destroy, count, flags);
    });
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
    return with_driver([&](const DriverCalls& driver) { return driver.cuUserObjectRetain_v11030(object, count); });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
    return with_driver([&](const DriverCalls& driver) { return driver.cuUserObjectRelease_v11030(object, count); });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                      unsigned int flags) {
    return with_driver(
        [&](const DriverCalls& driver) { return driver.cuGraphRetainUserObject_v11030(graph, object, count, flags); });
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count) {
    return with_driver(
        [&](const DriverCalls& driver) { return driver.cuGraphReleaseUserObject_v11030(graph, object, count); });
}

// ---- the device's graph memory ----

cudaError_t cudaDeviceGraphMemTrim(int device) {
    return with_context([&](const DriverCalls& driver) { return driver.cuDeviceGraphMemTrim_v11040(device); });
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void* value) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuDeviceGetGraphMemAttribute_v11040(device, static_cast<CUgraphMem_attribute>(attribute), value);
    });
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void* value) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuDeviceSetGraphMemAttribute_v11040(device, static_cast<CUgraphMem_attribute>(attribute), value);
    });
}

}  // extern "C"
