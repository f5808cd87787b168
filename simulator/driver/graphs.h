// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "simulator/driver/handles.h"
#include "simulator/driver/streams.h"

namespace vramtrace::simulator {

struct Graph;
struct GraphExec;

struct Node {
    Graph* graph = nullptr;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    std::vector<Node*> dependencies;
    Node* cloned_from = nullptr;
    bool enabled = true;
    // Parameters, by type.
    CUDA_KERNEL_NODE_PARAMS kernel{};
    CUDA_MEMCPY3D copy{};
    CUDA_MEMSET_NODE_PARAMS set{};
    CUDA_HOST_NODE_PARAMS host{};
    CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
    CUdeviceptr free = 0;
    CUevent event = nullptr;
    std::shared_ptr<Graph> child;
};

struct UserObject {
    void* pointer = nullptr;
    CUhostFn destroy = nullptr;
    unsigned int references = 0;
};

struct Graph {
    std::vector<std::unique_ptr<Node>> nodes;
    std::map<UserObject*, unsigned int> user_objects;
    GraphExec* only_exec = nullptr;  // graphs with memory nodes have at most one
    Graph* cloned_from = nullptr;
    bool is_child = false;
    uint64_t sequence = 0;
};

// A snapshot of the graph: what a launch executes, in an order that respects all dependencies.
struct GraphExec {
    struct Step {
        Node node;
        const Node* original;
    };
    std::vector<Step> steps;
    Graph* source = nullptr;  // nullptr once it was destroyed
    unsigned long long flags = 0;
    std::vector<uint64_t> addresses;  // graph memory that its launches make live
    uint64_t sequence = 0;
};

using GraphTable = HandleTable<Graph, CUgraph>;
using NodeTable = HandleTable<Node, CUgraphNode>;
using ExecTable = HandleTable<GraphExec, CUgraphExec>;

GraphTable& graphs();
ExecTable& graph_execs();
Graph& graph_of(CUgraph handle);  // child graphs too
Node& node_of(CUgraphNode handle);
CUgraph handle_of(const Graph& graph);
CUgraphNode handle_of(const Node& node);

Graph& make_graph();
void end_graph(Graph& graph);
Node& add_node(Graph& graph, CUgraphNodeType type, std::vector<Node*> dependencies);
std::vector<Node*> nodes_of(Graph& graph, const CUgraphNode* handles, size_t count);
std::vector<Node*> sorted(const Graph& graph);  // refuses if there is a cycle
bool has_memory_nodes(const Graph& graph);
std::shared_ptr<Graph> share_child(std::unique_ptr<Graph> graph);
void remove_node(Node& node);
std::unique_ptr<Graph> copy_graph(const Graph& graph);
void fill_allocation_node(Node& node, CUDA_MEM_ALLOC_NODE_PARAMS& parameters);
void fill_free_node(Node& node, CUdeviceptr pointer);

// A node whose parameters are refused does not stay in its graph.
template <class Fill>
void fill_or_remove(Node& node, Fill fill) {
    try {
        fill();
    } catch (const Refusal&) {
        remove_node(node);
        throw;
    }
}

// Instantiation and launch (graph_exec.cpp)
GraphExec& instantiate(Graph& graph, unsigned long long flags);
void end_exec(GraphExec& exec);
void launch(GraphExec& exec, Stream& stream);
void run_node(const Node& node, Stream& stream);

// The next node of the capture that the stream is in. A capture whose node cannot be filled is invalid.
Node& capture_node(Stream& stream, CUgraphNodeType type);
template <class Fill>
void fill_captured(Stream& stream, Node& node, Fill fill) {
    try {
        fill();
    } catch (const Refusal&) {
        stream.last_nodes = node.dependencies;
        remove_node(node);
        invalidate(*stream.capture);
        throw;
    }
}
void record_event(Event& event, Stream& stream);
HandleTable<UserObject, CUuserObject>& user_objects();
void release_user_object(UserObject& object, unsigned int count);

}  // namespace vramtrace::simulator
