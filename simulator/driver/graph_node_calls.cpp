// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "simulator/driver/graph_nodes.h"

using namespace vramtrace::simulator;

namespace {

Node& any_step_of(CUgraphExec exec, CUgraphNode handle) {
    return step_of(exec, handle, node_of(handle).type);
}

CUDA_KERNEL_NODE_PARAMS newer(const CUDA_KERNEL_NODE_PARAMS_v1& old) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    std::memcpy(&parameters, &old, sizeof old);
    return parameters;
}

// The generic form: one function for all node types.
void set_from(Node& node, CUgraphNodeParams& parameters) {
    switch (parameters.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            std::memcpy(&node.kernel, &parameters.kernel, sizeof node.kernel);
            break;
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            node.copy = parameters.memcpy.copyParams;
            break;
        case CU_GRAPH_NODE_TYPE_MEMSET:
            node.set.dst = parameters.memset.dst;
            node.set.pitch = parameters.memset.pitch;
            node.set.value = parameters.memset.value;
            node.set.elementSize = parameters.memset.elementSize;
            node.set.width = parameters.memset.width;
            node.set.height = parameters.memset.height;
            break;
        case CU_GRAPH_NODE_TYPE_HOST:
            node.host.fn = parameters.host.fn;
            node.host.userData = parameters.host.userData;
            break;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            node.child = share_child(copy_graph(graph_of(parameters.graph.graph)));
            break;
        case CU_GRAPH_NODE_TYPE_EMPTY:
            break;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            node.event = parameters.eventWait.event;
            break;
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            node.event = parameters.eventRecord.event;
            break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
            CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
            std::memcpy(&alloc, &parameters.alloc, sizeof alloc);
            fill_allocation_node(node, alloc);
            parameters.alloc.dptr = alloc.dptr;
            break;
        }
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            fill_free_node(node, parameters.free.dptr);
            break;
        default:
            refuse(CUDA_ERROR_NOT_SUPPORTED);
    }
}

CUresult add_any(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                 CUgraphNodeParams* parameters) {
    require(parameters != nullptr);
    Node& node = add(out, graph, dependencies, count, parameters->type);
    fill_or_remove(node, [&] { set_from(node, *parameters); });
    return CUDA_SUCCESS;
}

bool is_memory_node(const Node& node) {
    return node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node.type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

}  // namespace

SIM_API(cuGraphAddNode,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
         CUgraphNodeParams* nodeParams),
        (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
    return add_any(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

SIM_API(cuGraphAddNode_v2,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
         const CUgraphEdgeData* dependencyData, size_t numDependencies, CUgraphNodeParams* nodeParams),
        (phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams)) {
    return add_any(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

SIM_API(cuGraphNodeSetParams, (CUgraphNode hNode, CUgraphNodeParams* nodeParams), (hNode, nodeParams)) {
    require(nodeParams != nullptr);
    Node& node = typed(hNode, nodeParams->type);
    require(!is_memory_node(node));
    set_from(node, *nodeParams);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphExecNodeSetParams, (CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams* nodeParams),
        (hGraphExec, hNode, nodeParams)) {
    require(nodeParams != nullptr);
    Node& node = step_of(hGraphExec, hNode, nodeParams->type);
    require(!is_memory_node(node) && node.type != CU_GRAPH_NODE_TYPE_GRAPH);
    set_from(node, *nodeParams);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphAddKernelNode,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
         const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams),
        (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
    require(nodeParams != nullptr);
    add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL).kernel = newer(*nodeParams);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphAddKernelNode_v2,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
         const CUDA_KERNEL_NODE_PARAMS* nodeParams),
        (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
    require(nodeParams != nullptr);
    add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL).kernel = *nodeParams;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphKernelNodeGetParams, (CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1* nodeParams), (hNode, nodeParams)) {
    require(nodeParams != nullptr);
    std::memcpy(nodeParams, &typed(hNode, CU_GRAPH_NODE_TYPE_KERNEL).kernel, sizeof *nodeParams);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphKernelNodeSetParams, (CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams),
        (hNode, nodeParams)) {
    require(nodeParams != nullptr);
    typed(hNode, CU_GRAPH_NODE_TYPE_KERNEL).kernel = newer(*nodeParams);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphExecKernelNodeSetParams,
        (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams),
        (hGraphExec, hNode, nodeParams)) {
    require(nodeParams != nullptr);
    step_of(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL).kernel = newer(*nodeParams);
    return CUDA_SUCCESS;
}

// Nodes whose parameters are one struct: get and set.
#define NODE_CALLS(type_name, member, Parameters, getter, setter)                             \
    SIM_API(getter, (CUgraphNode hNode, Parameters * nodeParams), (hNode, nodeParams)) {      \
        require(nodeParams != nullptr);                                                       \
        *nodeParams = typed(hNode, CU_GRAPH_NODE_TYPE_##type_name).member;                    \
        return CUDA_SUCCESS;                                                                  \
    }                                                                                         \
    SIM_API(setter, (CUgraphNode hNode, const Parameters* nodeParams), (hNode, nodeParams)) { \
        require(nodeParams != nullptr);                                                       \
        typed(hNode, CU_GRAPH_NODE_TYPE_##type_name).member = *nodeParams;                    \
        return CUDA_SUCCESS;                                                                  \
    }
NODE_CALLS(KERNEL, kernel, CUDA_KERNEL_NODE_PARAMS, cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeSetParams_v2)
NODE_CALLS(MEMCPY, copy, CUDA_MEMCPY3D, cuGraphMemcpyNodeGetParams, cuGraphMemcpyNodeSetParams)
NODE_CALLS(MEMSET, set, CUDA_MEMSET_NODE_PARAMS, cuGraphMemsetNodeGetParams, cuGraphMemsetNodeSetParams)
NODE_CALLS(HOST, host, CUDA_HOST_NODE_PARAMS, cuGraphHostNodeGetParams, cuGraphHostNodeSetParams)
#undef NODE_CALLS

SIM_API(cuGraphExecKernelNodeSetParams_v2,
        (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams),
        (hGraphExec, hNode, nodeParams)) {
    require(nodeParams != nullptr);
    step_of(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL).kernel = *nodeParams;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphAddMemcpyNode,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
         const CUDA_MEMCPY3D* copyParams, CUcontext ctx),
        (phGraphNode, hGraph, dependencies, numDependencies, copyParams, ctx)) {
    require(copyParams != nullptr);
    add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMCPY).copy = *copyParams;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphExecMemcpyNodeSetParams,
        (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D* copyParams, CUcontext ctx),
        (hGraphExec, hNode, copyParams, ctx)) {
    require(copyParams != nullptr);
    step_of(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMCPY).copy = *copyParams;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphAddMemsetNode,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
         const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx),
        (phGraphNode, hGraph, dependencies, numDependencies, memsetParams, ctx)) {
    require(memsetParams != nullptr);
    add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMSET).set = *memsetParams;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphExecMemsetNodeSetParams,
        (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx),
        (hGraphExec, hNode, memsetParams, ctx)) {
    require(memsetParams != nullptr);
    step_of(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMSET).set = *memsetParams;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphAddHostNode,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
         const CUDA_HOST_NODE_PARAMS* nodeParams),
        (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
    require(nodeParams != nullptr && nodeParams->fn != nullptr);
    add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_HOST).host = *nodeParams;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphExecHostNodeSetParams,
        (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams),
        (hGraphExec, hNode, nodeParams)) {
    require(nodeParams != nullptr && nodeParams->fn != nullptr);
    step_of(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_HOST).host = *nodeParams;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphAddEmptyNode,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies),
        (phGraphNode, hGraph, dependencies, numDependencies)) {
    add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_EMPTY);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphAddChildGraphNode,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
         CUgraph childGraph),
        (phGraphNode, hGraph, dependencies, numDependencies, childGraph)) {
    auto child = share_child(copy_graph(graph_of(childGraph)));
    add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_GRAPH).child = std::move(child);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphChildGraphNodeGetGraph, (CUgraphNode hNode, CUgraph* phGraph), (hNode, phGraph)) {
    require(phGraph != nullptr);
    *phGraph = handle_of(*typed(hNode, CU_GRAPH_NODE_TYPE_GRAPH).child);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeGetType, (CUgraphNode hNode, CUgraphNodeType* type), (hNode, type)) {
    require(type != nullptr);
    *type = node_of(hNode).type;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphDestroyNode, (CUgraphNode hNode), (hNode)) {
    Node& node = node_of(hNode);
    require(!has_memory_nodes(*node.graph), CUDA_ERROR_NOT_SUPPORTED);
    remove_node(node);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeSetEnabled, (CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled),
        (hGraphExec, hNode, isEnabled)) {
    Node& node = any_step_of(hGraphExec, hNode);
    require(node.type == CU_GRAPH_NODE_TYPE_KERNEL || node.type == CU_GRAPH_NODE_TYPE_MEMSET ||
            node.type == CU_GRAPH_NODE_TYPE_MEMCPY);
    node.enabled = isEnabled != 0;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeGetEnabled, (CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int* isEnabled),
        (hGraphExec, hNode, isEnabled)) {
    require(isEnabled != nullptr);
    *isEnabled = any_step_of(hGraphExec, hNode).enabled ? 1 : 0;
    return CUDA_SUCCESS;
}
