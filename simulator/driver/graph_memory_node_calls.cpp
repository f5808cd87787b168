// SPDX-License-Identifier: Apache-2.0
// Nodes that allocate and free, and nodes of events.
#include "simulator/driver/graph_nodes.h"

using namespace vramtrace::simulator;

SIM_API(cuGraphAddMemAllocNode,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
         CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams),
        (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
    require(nodeParams != nullptr);
    Node& node = add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    fill_or_remove(node, [&] { fill_allocation_node(node, *nodeParams); });
    return CUDA_SUCCESS;
}

SIM_API(cuGraphMemAllocNodeGetParams, (CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS* params_out),
        (hNode, params_out)) {
    require(params_out != nullptr);
    *params_out = typed(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC).alloc;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphAddMemFreeNode,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
         CUdeviceptr dptr),
        (phGraphNode, hGraph, dependencies, numDependencies, dptr)) {
    Node& node = add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEM_FREE);
    fill_or_remove(node, [&] { fill_free_node(node, dptr); });
    return CUDA_SUCCESS;
}

SIM_API(cuGraphMemFreeNodeGetParams, (CUgraphNode hNode, CUdeviceptr* dptr_out), (hNode, dptr_out)) {
    require(dptr_out != nullptr);
    *dptr_out = typed(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE).free;
    return CUDA_SUCCESS;
}

#define EVENT_NODE_CALLS(name, type_name)                                                                        \
    SIM_API(cuGraphAdd##name##Node,                                                                              \
            (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies, \
             CUevent event),                                                                                     \
            (phGraphNode, hGraph, dependencies, numDependencies, event)) {                                       \
        events().get(event);                                                                                     \
        add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_##type_name).event = event;   \
        return CUDA_SUCCESS;                                                                                     \
    }                                                                                                            \
    SIM_API(cuGraph##name##NodeGetEvent, (CUgraphNode hNode, CUevent * event_out), (hNode, event_out)) {         \
        require(event_out != nullptr);                                                                           \
        *event_out = typed(hNode, CU_GRAPH_NODE_TYPE_##type_name).event;                                         \
        return CUDA_SUCCESS;                                                                                     \
    }                                                                                                            \
    SIM_API(cuGraph##name##NodeSetEvent, (CUgraphNode hNode, CUevent event), (hNode, event)) {                   \
        events().get(event);                                                                                     \
        typed(hNode, CU_GRAPH_NODE_TYPE_##type_name).event = event;                                              \
        return CUDA_SUCCESS;                                                                                     \
    }                                                                                                            \
    SIM_API(cuGraphExec##name##NodeSetEvent, (CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event),         \
            (hGraphExec, hNode, event)) {                                                                        \
        events().get(event);                                                                                     \
        step_of(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_##type_name).event = event;                                \
        return CUDA_SUCCESS;                                                                                     \
    }
EVENT_NODE_CALLS(EventRecord, EVENT_RECORD)
EVENT_NODE_CALLS(EventWait, WAIT_EVENT)
#undef EVENT_NODE_CALLS
