// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "simulator/driver/graph_memory.h"
#include "simulator/driver/graphs.h"

using namespace vramtrace::simulator;

namespace {

template <class Items, class Convert, class Out>
CUresult list(const Items& items, Convert convert, Out* out, size_t* count) {
    require(count != nullptr);
    if (out == nullptr) {
        *count = items.size();
        return CUDA_SUCCESS;
    }
    const size_t given = std::min(*count, items.size());
    size_t i = 0;
    for (const auto& item : items) {
        if (i == given) {
            break;
        }
        out[i++] = convert(item);
    }
    // Asked for more than there is: the rest is cleared and the number returned is that of the items.
    for (; i < *count; ++i) {
        out[i] = {};
    }
    *count = given;
    return CUDA_SUCCESS;
}

struct Edge {
    Node* from;
    Node* to;
};

CUresult list_edges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
    require(count != nullptr && (from == nullptr) == (to == nullptr));
    std::vector<Edge> edges;
    for (const auto& node : graph_of(hGraph).nodes) {
        for (Node* dependency : node->dependencies) {
            edges.push_back({dependency, node.get()});
        }
    }
    size_t asked = *count;
    if (to != nullptr) {
        size_t again = asked;
        list(edges, [](const Edge& edge) { return handle_of(*edge.to); }, to, &again);
    }
    if (data != nullptr) {
        std::fill_n(data, asked, CUgraphEdgeData{});
    }
    return list(edges, [](const Edge& edge) { return handle_of(*edge.from); }, from, count);
}

CUresult list_dependencies(CUgraphNode hNode, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
    require(count != nullptr);
    if (data != nullptr) {
        std::fill_n(data, *count, CUgraphEdgeData{});
    }
    return list(node_of(hNode).dependencies, [](const Node* node) { return handle_of(*node); }, out, count);
}

CUresult list_dependents(CUgraphNode hNode, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
    require(count != nullptr);
    Node& node = node_of(hNode);
    std::vector<Node*> dependents;
    for (const auto& other : node.graph->nodes) {
        const auto& needs = other->dependencies;
        if (std::find(needs.begin(), needs.end(), &node) != needs.end()) {
            dependents.push_back(other.get());
        }
    }
    if (data != nullptr) {
        std::fill_n(data, *count, CUgraphEdgeData{});
    }
    return list(dependents, [](const Node* dependent) { return handle_of(*dependent); }, out, count);
}

CUresult add_dependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
    Graph& graph = graph_of(hGraph);
    require((from != nullptr && to != nullptr) || count == 0);
    for (size_t i = 0; i < count; ++i) {
        Node& source = node_of(from[i]);
        Node& target = node_of(to[i]);
        auto& needs = target.dependencies;
        require(source.graph == &graph && target.graph == &graph && &source != &target);
        require(std::find(needs.begin(), needs.end(), &source) == needs.end());
        needs.push_back(&source);
    }
    return CUDA_SUCCESS;
}

CUresult remove_dependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
    Graph& graph = graph_of(hGraph);
    require((from != nullptr && to != nullptr) || count == 0);
    require(!has_memory_nodes(graph), CUDA_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < count; ++i) {
        Node& source = node_of(from[i]);
        Node& target = node_of(to[i]);
        require(source.graph == &graph && target.graph == &graph);
        require(std::erase(target.dependencies, &source) == 1);
    }
    return CUDA_SUCCESS;
}

CUresult make_exec(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
    require(phGraphExec != nullptr);
    constexpr unsigned long long known =
        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
        CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    require((flags & ~known) == 0);
    *phGraphExec = ExecTable::handle_of(instantiate(graph_of(hGraph), flags));
    return CUDA_SUCCESS;
}

GraphExec& exec_of(CUgraphExec handle) {
    return graph_execs().get(handle, CUDA_ERROR_INVALID_VALUE);
}

bool same_shape(const GraphExec& exec, const std::vector<GraphExec::Step>& other) {
    return std::equal(exec.steps.begin(), exec.steps.end(), other.begin(), other.end(),
                      [](const auto& a, const auto& b) { return a.node.type == b.node.type; });
}

CUresult update(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResult* result) {
    GraphExec& exec = exec_of(hGraphExec);
    Graph& graph = graph_of(hGraph);
    *result = CU_GRAPH_EXEC_UPDATE_ERROR;
    require(exec.addresses.empty() && !has_memory_nodes(graph), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    GraphExec& fresh = instantiate(graph, exec.flags);
    if (!same_shape(exec, fresh.steps)) {
        end_exec(fresh);
        *result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    // Later changes go by the nodes of the graph it was instantiated from.
    for (size_t i = 0; i < exec.steps.size(); ++i) {
        exec.steps[i].node = fresh.steps[i].node;
    }
    end_exec(fresh);
    *result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    return CUDA_SUCCESS;
}

}  // namespace

SIM_API(cuGraphCreate, (CUgraph * phGraph, unsigned int flags), (phGraph, flags)) {
    require(phGraph != nullptr && flags == 0);
    *phGraph = handle_of(make_graph());
    return CUDA_SUCCESS;
}

SIM_API(cuGraphDestroy, (CUgraph hGraph), (hGraph)) {
    end_graph(graphs().get(hGraph, CUDA_ERROR_INVALID_VALUE));
    return CUDA_SUCCESS;
}

SIM_API(cuGraphClone, (CUgraph * phGraphClone, CUgraph originalGraph), (phGraphClone, originalGraph)) {
    require(phGraphClone != nullptr);
    Graph& original = graph_of(originalGraph);
    auto copy = copy_graph(original);
    Graph& clone = make_graph();
    for (const auto& node : copy->nodes) {
        node->graph = &clone;
    }
    clone.nodes = std::move(copy->nodes);
    clone.cloned_from = &original;
    *phGraphClone = handle_of(clone);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeFindInClone, (CUgraphNode * phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph),
        (phNode, hOriginalNode, hClonedGraph)) {
    require(phNode != nullptr);
    const Node& original = node_of(hOriginalNode);
    for (const auto& node : graph_of(hClonedGraph).nodes) {
        if (node->cloned_from == &original) {
            *phNode = handle_of(*node);
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuGraphGetNodes, (CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes), (hGraph, nodes, numNodes)) {
    return list(graph_of(hGraph).nodes, [](const auto& node) { return handle_of(*node); }, nodes, numNodes);
}

SIM_API(cuGraphGetRootNodes, (CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes),
        (hGraph, rootNodes, numRootNodes)) {
    std::vector<Node*> roots;
    for (const auto& node : graph_of(hGraph).nodes) {
        if (node->dependencies.empty()) {
            roots.push_back(node.get());
        }
    }
    return list(roots, [](const Node* node) { return handle_of(*node); }, rootNodes, numRootNodes);
}

SIM_API(cuGraphGetEdges, (CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* numEdges),
        (hGraph, from, to, numEdges)) {
    return list_edges(hGraph, from, to, nullptr, numEdges);
}

SIM_API(cuGraphGetEdges_v2,
        (CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edgeData, size_t* numEdges),
        (hGraph, from, to, edgeData, numEdges)) {
    return list_edges(hGraph, from, to, edgeData, numEdges);
}

SIM_API(cuGraphNodeGetDependencies, (CUgraphNode hNode, CUgraphNode* dependencies, size_t* numDependencies),
        (hNode, dependencies, numDependencies)) {
    return list_dependencies(hNode, dependencies, nullptr, numDependencies);
}

SIM_API(cuGraphNodeGetDependencies_v2,
        (CUgraphNode hNode, CUgraphNode* dependencies, CUgraphEdgeData* edgeData, size_t* numDependencies),
        (hNode, dependencies, edgeData, numDependencies)) {
    return list_dependencies(hNode, dependencies, edgeData, numDependencies);
}

SIM_API(cuGraphNodeGetDependentNodes, (CUgraphNode hNode, CUgraphNode* dependentNodes, size_t* numDependentNodes),
        (hNode, dependentNodes, numDependentNodes)) {
    return list_dependents(hNode, dependentNodes, nullptr, numDependentNodes);
}

SIM_API(cuGraphNodeGetDependentNodes_v2,
        (CUgraphNode hNode, CUgraphNode* dependentNodes, CUgraphEdgeData* edgeData, size_t* numDependentNodes),
        (hNode, dependentNodes, edgeData, numDependentNodes)) {
    return list_dependents(hNode, dependentNodes, edgeData, numDependentNodes);
}

SIM_API(cuGraphAddDependencies,
        (CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, size_t numDependencies),
        (hGraph, from, to, numDependencies)) {
    return add_dependencies(hGraph, from, to, numDependencies);
}

SIM_API(cuGraphAddDependencies_v2,
        (CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edgeData,
         size_t numDependencies),
        (hGraph, from, to, edgeData, numDependencies)) {
    return add_dependencies(hGraph, from, to, numDependencies);
}

SIM_API(cuGraphRemoveDependencies,
        (CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, size_t numDependencies),
        (hGraph, from, to, numDependencies)) {
    return remove_dependencies(hGraph, from, to, numDependencies);
}

SIM_API(cuGraphRemoveDependencies_v2,
        (CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edgeData,
         size_t numDependencies),
        (hGraph, from, to, edgeData, numDependencies)) {
    return remove_dependencies(hGraph, from, to, numDependencies);
}

SIM_API(cuGraphInstantiate,
        (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer, size_t bufferSize),
        (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize)) {
    return make_exec(phGraphExec, hGraph, 0);
}

SIM_API(cuGraphInstantiate_v2,
        (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer, size_t bufferSize),
        (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize)) {
    return make_exec(phGraphExec, hGraph, 0);
}

SIM_API(cuGraphInstantiateWithFlags, (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags),
        (phGraphExec, hGraph, flags)) {
    return make_exec(phGraphExec, hGraph, flags);
}

SIM_STREAM_API(cuGraphInstantiateWithParams, _ptsz,
               (CUgraphExec * phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams),
               (phGraphExec, hGraph, instantiateParams)) {
    require(instantiateParams != nullptr);
    instantiateParams->hErrNode_out = nullptr;
    instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    make_exec(phGraphExec, hGraph, instantiateParams->flags);
    instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphExecGetFlags, (CUgraphExec hGraphExec, cuuint64_t* flags), (hGraphExec, flags)) {
    require(flags != nullptr);
    *flags = exec_of(hGraphExec).flags;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphExecDestroy, (CUgraphExec hGraphExec), (hGraphExec)) {
    end_exec(exec_of(hGraphExec));
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuGraphLaunch, _ptsz, (CUgraphExec hGraph, CUstream hStream), (hGraph, hStream)) {
    GraphExec& exec = exec_of(hGraph);
    Stream& stream = stream_of(hStream);
    if (capturing(stream) != nullptr) {
        // A launch in a capture becomes a child node.
        require(exec.source != nullptr && exec.addresses.empty(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        capture_node(stream, CU_GRAPH_NODE_TYPE_GRAPH).child = share_child(copy_graph(*exec.source));
        return CUDA_SUCCESS;
    }
    launch(exec, stream);
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuGraphUpload, _ptsz, (CUgraphExec hGraph, CUstream hStream), (hGraph, hStream)) {
    exec_of(hGraph);
    work_on(hStream);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphExecUpdate,
        (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out,
         CUgraphExecUpdateResult* updateResult_out),
        (hGraphExec, hGraph, hErrorNode_out, updateResult_out)) {
    require(updateResult_out != nullptr);
    if (hErrorNode_out != nullptr) {
        *hErrorNode_out = nullptr;
    }
    return update(hGraphExec, hGraph, updateResult_out);
}

SIM_API(cuGraphExecUpdate_v2,
        (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo* resultInfo),
        (hGraphExec, hGraph, resultInfo)) {
    require(resultInfo != nullptr);
    resultInfo->errorNode = nullptr;
    resultInfo->errorFromNode = nullptr;
    return update(hGraphExec, hGraph, &resultInfo->result);
}

SIM_API(cuGraphDebugDotPrint, (CUgraph hGraph, const char* path, unsigned int flags), (hGraph, path, flags)) {
    require(path != nullptr);
    const Graph& graph = graph_of(hGraph);
    std::FILE* file = std::fopen(path, "we");
    require(file != nullptr, CUDA_ERROR_OPERATING_SYSTEM);
    std::fputs("digraph {\n", file);
    for (const auto& node : graph.nodes) {
        std::fprintf(file, "  \"%p\" [label=\"type %d\"];\n", static_cast<const void*>(node.get()), node->type);
        for (const Node* dependency : node->dependencies) {
            std::fprintf(file, "  \"%p\" -> \"%p\";\n", static_cast<const void*>(dependency),
                         static_cast<const void*>(node.get()));
        }
    }
    std::fputs("}\n", file);
    std::fclose(file);
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGraphMemTrim, (CUdevice device), (device)) {
    trim_graph_memory(device_of(device));
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attr, void* value),
        (device, attr, value)) {
    require(value != nullptr);
    Device& found = device_of(device);
    const GraphMemoryUse& use = graph_memory_use(found);
    auto& out = *static_cast<cuuint64_t*>(value);
    switch (attr) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: out = use.used; break;
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: out = use.used_high; break;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: out = found.memory.used(Use::kGraphs); break;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: out = use.reserved_high; break;
        default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceSetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attr, void* value),
        (device, attr, value)) {
    require(value != nullptr && *static_cast<cuuint64_t*>(value) == 0);
    Device& found = device_of(device);
    GraphMemoryUse& use = graph_memory_use(found);
    switch (attr) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: use.used_high = use.used; break;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: use.reserved_high = found.memory.used(Use::kGraphs); break;
        default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
