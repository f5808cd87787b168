// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/graphs.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "simulator/driver/graph_memory.h"

namespace vramtrace::simulator {
namespace {

// Nodes are owned by their graphs; this finds out whether a handle is one.
std::unordered_set<Node*>& all_nodes() {
    static auto* const nodes = new std::unordered_set<Node*>;
    return *nodes;
}

std::unordered_set<Graph*>& child_graphs() {
    static auto* const graphs = new std::unordered_set<Graph*>;
    return *graphs;
}

void forget_nodes(Graph& graph) {
    for (const auto& node : graph.nodes) {
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && node->alloc.dptr != 0) {
            forget_graph_address(node->alloc.dptr);
        }
        all_nodes().erase(node.get());
    }
    for (const auto& [object, count] : graph.user_objects) {
        release_user_object(*object, count);
    }
    graph.nodes.clear();
}

}  // namespace

GraphTable& graphs() {
    static auto* const table = new GraphTable;
    return *table;
}

Graph& graph_of(CUgraph handle) {
    auto* graph = reinterpret_cast<Graph*>(handle);
    if (child_graphs().count(graph) != 0) {
        return *graph;
    }
    return graphs().get(handle, CUDA_ERROR_INVALID_VALUE);
}

Node& node_of(CUgraphNode handle) {
    auto* node = reinterpret_cast<Node*>(handle);
    require(all_nodes().count(node) != 0);
    return *node;
}

CUgraph handle_of(const Graph& graph) {
    return GraphTable::handle_of(graph);
}

CUgraphNode handle_of(const Node& node) {
    return NodeTable::handle_of(node);
}

Graph& make_graph() {
    auto graph = std::make_unique<Graph>();
    Book::Item item;
    item.kind = VRAMTRACE_SIM_GRAPH;
    item.address = reinterpret_cast<uint64_t>(graph.get());
    graph->sequence = add_to_book(item);
    return graphs().add(std::move(graph));
}

// What launches made live stays live: only a free ends graph memory.
void end_graph(Graph& graph) {
    graph_execs().for_each([&](GraphExec& exec) {
        if (exec.source == &graph) {
            exec.source = nullptr;
        }
    });
    forget_nodes(graph);
    remove_from_book(graph.sequence);
    graphs().remove(graph);
}

Node& add_node(Graph& graph, CUgraphNodeType type, std::vector<Node*> dependencies) {
    auto node = std::make_unique<Node>();
    node->graph = &graph;
    node->type = type;
    node->dependencies = std::move(dependencies);
    all_nodes().insert(node.get());
    graph.nodes.push_back(std::move(node));
    return *graph.nodes.back();
}

std::vector<Node*> nodes_of(Graph& graph, const CUgraphNode* handles, size_t count) {
    require(handles != nullptr || count == 0);
    std::vector<Node*> nodes;
    for (size_t i = 0; i < count; ++i) {
        Node& node = node_of(handles[i]);
        require(node.graph == &graph && std::find(nodes.begin(), nodes.end(), &node) == nodes.end());
        nodes.push_back(&node);
    }
    return nodes;
}

std::vector<Node*> sorted(const Graph& graph) {
    std::unordered_map<const Node*, size_t> waiting;
    std::unordered_map<const Node*, std::vector<Node*>> followers;
    std::vector<Node*> order;
    for (const auto& node : graph.nodes) {
        waiting[node.get()] = node->dependencies.size();
        for (const Node* dependency : node->dependencies) {
            followers[dependency].push_back(node.get());
        }
        if (node->dependencies.empty()) {
            order.push_back(node.get());
        }
    }
    for (size_t i = 0; i < order.size(); ++i) {
        for (Node* follower : followers[order[i]]) {
            if (--waiting[follower] == 0) {
                order.push_back(follower);
            }
        }
    }
    require(order.size() == graph.nodes.size());
    return order;
}

bool has_memory_nodes(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
        return node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node->type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
               (node->child && has_memory_nodes(*node->child));
    });
}

std::unique_ptr<Graph> copy_graph(const Graph& graph) {
    require(!has_memory_nodes(graph), CUDA_ERROR_NOT_SUPPORTED);
    auto copy = std::make_unique<Graph>();
    std::unordered_map<const Node*, Node*> twins;
    for (const auto& node : graph.nodes) {
        auto twin = std::make_unique<Node>(*node);
        twin->graph = copy.get();
        twin->cloned_from = node.get();
        if (node->child) {
            twin->child = share_child(copy_graph(*node->child));
        }
        twins[node.get()] = twin.get();
        all_nodes().insert(twin.get());
        copy->nodes.push_back(std::move(twin));
    }
    for (const auto& node : copy->nodes) {
        for (Node*& dependency : node->dependencies) {
            dependency = twins.at(dependency);
        }
    }
    return copy;
}

std::shared_ptr<Graph> share_child(std::unique_ptr<Graph> graph) {
    graph->is_child = true;
    child_graphs().insert(graph.get());
    return std::shared_ptr<Graph>(graph.release(), [](Graph* ending) {
        child_graphs().erase(ending);
        forget_nodes(*ending);
        delete ending;
    });
}

void remove_node(Node& node) {
    Graph& graph = *node.graph;
    for (const auto& other : graph.nodes) {
        std::erase(other->dependencies, &node);
    }
    all_nodes().erase(&node);
    std::erase_if(graph.nodes, [&](const auto& one) { return one.get() == &node; });
}

void fill_allocation_node(Node& node, CUDA_MEM_ALLOC_NODE_PARAMS& parameters) {
    require(parameters.bytesize != 0 && parameters.poolProps.allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
    require(parameters.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    require(parameters.poolProps.handleTypes == CU_MEM_HANDLE_TYPE_NONE && node.graph->only_exec == nullptr);
    Device& device = device_of(parameters.poolProps.location.id);
    parameters.dptr = to_pointer(reserve_graph_address(device, parameters.bytesize));
    node.alloc = parameters;
    node.alloc.accessDescs = nullptr;
    node.alloc.accessDescCount = 0;
}

void fill_free_node(Node& node, CUdeviceptr pointer) {
    for (const auto& other : node.graph->nodes) {
        require(other->type != CU_GRAPH_NODE_TYPE_MEM_FREE || other->free != pointer);
    }
    require(pointer != 0 && is_graph_address(pointer) && node.graph->only_exec == nullptr);
    node.free = pointer;
}

void release_user_object(UserObject& object, unsigned int count) {
    object.references -= std::min(count, object.references);
    if (object.references == 0) {
        Machine::get().after_unlock([destroy = object.destroy, pointer = object.pointer] { destroy(pointer); });
        user_objects().remove(object);
    }
}

HandleTable<UserObject, CUuserObject>& user_objects() {
    static auto* const table = new HandleTable<UserObject, CUuserObject>;
    return *table;
}

}  // namespace vramtrace::simulator
