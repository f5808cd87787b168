// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

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
        list(
            edges, [](const Edge& edge) { return handle_of(*edge.to); }, to, &again);
    }
    if (data != nullptr) {
        std::fill_n(data, asked, CUgraphEdgeData{});
    }
    return list(
        edges, [](const Edge& edge) { return handle_of(*edge.from); }, from, count);
}

CUresult list_dependencies(CUgraphNode hNode, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
    require(count != nullptr);
    if (data != nullptr) {
        std::fill_n(data, *count, CUgraphEdgeData{});
    }
    return list(
        node_of(hNode).dependencies, [](const Node* node) { return handle_of(*node); }, out, count);
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
    return list(
        dependents, [](const Node* dependent) { return handle_of(*dependent); }, out, count);
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
    return list(
        graph_of(hGraph).nodes, [](const auto& node) { return handle_of(*node); }, nodes, numNodes);
}

SIM_API(cuGraphGetRootNodes, (CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes),
        (hGraph, rootNodes, numRootNodes)) {
    std::vector<Node*> roots;
    for (const auto& node : graph_of(hGraph).nodes) {
        if (node->dependencies.empty()) {
            roots.push_back(node.get());
        }
    }
    return list(
        roots, [](const Node* node) { return handle_of(*node); }, rootNodes, numRootNodes);
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
