// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/graphs.h"

#include <utility>

namespace vramtrace::replay {
namespace {

constexpr unsigned kMaxNesting = 64;  // child graphs in child graphs: more is a damaged trace

}  // namespace

void Graphs::add_alloc(const trace::Event& event) {
    auto node = std::make_shared<Node>();
    node->what = Node::What::Alloc;
    node->node = event.aux;
    node->address = event.address;
    node->bytes = event.size;
    node->origin = core_.origin(event, Kind::GraphMemory, event.device);
    add(event, std::move(node));
}

void Graphs::add_free(const trace::Event& event) {
    auto node = std::make_shared<Node>();
    node->what = Node::What::Free;
    node->node = event.aux;
    node->address = event.address;
    core_.on_refusal([this, refused = node, graph = event.object] {
        if (const auto place = graphs_.find(graph); place != graphs_.end()) std::erase(place->second, refused);
        for (auto& [stream, capture] : captures_) std::erase(capture.nodes, refused);
    });
    add(event, std::move(node));
}

void Graphs::add_child(const trace::Event& event) {
    // Only a child with memory nodes matters, and such a one was moved, not cloned: it now belongs to its parent.
    if (graphs_.count(event.aux) == 0 || event.aux == event.object) return;
    auto node = std::make_shared<Node>();
    node->what = Node::What::Child;
    node->child = event.aux;
    add(event, std::move(node));
    if (Allocation* child = core_.live().find(Space::Graph, event.aux)) core_.end(child, Ending::OwnerEnded, event);
}

void Graphs::add(const trace::Event& event, std::shared_ptr<Node> node) {
    Capture* capture = capture_of(event.thread);
    if (event.object == 0) {
        if (capture == nullptr) return core_.unmatched_use(event);
        capture->nodes.push_back(std::move(node));
        return;
    }
    if (capture != nullptr && capture->graph == 0) capture->graph = event.object;
    graphs_[event.object].push_back(std::move(node));
    // While something is captured the graph may be one that is thrown away with a failed capture: not a handle yet.
    if (captures_.empty()) make_handle(event.object, event);
}

void Graphs::make_handle(uint64_t graph, const trace::Event& event) {
    if (graph == 0 || core_.live().find(Space::Graph, graph) != nullptr) return;
    Allocation made = core_.made_by(event, Kind::Graph);
    made.object = graph;
    core_.allocate(made, event);
}

void Graphs::destroy_node(const trace::Event& event) {
    for (auto& [graph, nodes] : graphs_) {
        for (size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i]->node != event.aux) continue;
            core_.on_refusal([this, in = graph, node = nodes[i]] { graphs_[in].push_back(node); });
            nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i));
            return;
        }
    }
}

Graphs::Capture* Graphs::capture_of(uint32_t thread) {
    for (auto& [stream, capture] : captures_) {
        if (capture.thread == thread) return &capture;
    }
    return nullptr;
}

void Graphs::begin_capture(const trace::Event& event) {
    Capture& capture = captures_[event.aux];
    capture = Capture{};
    capture.thread = event.thread;
}

void Graphs::end_capture(const trace::Event& event) {
    Capture capture;
    if (const auto place = captures_.find(event.aux); place != captures_.end()) {
        capture = std::move(place->second);
        captures_.erase(place);
    }
    if (event.object == 0) {  // failed: what was captured will never be launched
        if (capture.graph != 0 && core_.live().find(Space::Graph, capture.graph) == nullptr)
            graphs_.erase(capture.graph);
        return;
    }
    if (!capture.nodes.empty()) {
        Nodes& nodes = graphs_[event.object];
        nodes.insert(nodes.end(), capture.nodes.begin(), capture.nodes.end());
    }
    make_handle(event.object, event);
}

void Graphs::collect(uint64_t graph, Nodes& nodes, unsigned depth) const {
    const auto place = graphs_.find(graph);
    if (place == graphs_.end() || depth > kMaxNesting) return;
    for (const auto& node : place->second) {
        if (node->what == Node::What::Child) {
            collect(node->child, nodes, depth + 1);
        } else {
            nodes.push_back(node);
        }
    }
}

void Graphs::instantiate(const trace::Event& event) {
    Allocation made = core_.made_by(event, Kind::GraphExec);
    made.object = event.object;
    core_.allocate(made, event);
    if (graphs_.count(event.aux) > 0) make_handle(event.aux, event);
    auto nodes = std::make_shared<Nodes>();
    collect(event.aux, *nodes, 0);
    execs_[event.object] = std::move(nodes);
}

void Graphs::launch(const trace::Event& event) {
    const auto place = execs_.find(event.object);
    if (place == execs_.end()) return core_.unmatched_use(event);
    for (const auto& node : *place->second) {
        if (node->what == Node::What::Alloc) {
            start(*node, event);
        } else if (Allocation* memory = core_.live().find(Space::Memory, node->address)) {
            core_.end(memory, Ending::FreedByGraph, event);
        } else {
            core_.unmatched_release(event);
        }
    }
}

void Graphs::start(Node& node, const trace::Event& event) {
    if (Allocation* memory = node.live.get(core_.live())) {
        memory->flags = static_cast<uint8_t>(memory->flags & ~kOwnerDestroyed);
        return;
    }
    Allocation made = core_.made_by(event, Kind::GraphMemory);
    made.address = node.address;
    made.bytes = node.bytes;
    made.object = event.object;
    made.stack = node.origin.stack;
    made.thread = node.origin.thread;
    made.context = node.origin.context;
    made.device = node.origin.device;
    made.api = node.origin.api;
    made.label = node.origin.label;
    node.live = Reference(core_.allocate(made, event));
}

void Graphs::destroy_exec(const trace::Event& event) {
    const auto place = execs_.find(event.object);
    std::shared_ptr<const Nodes> nodes;
    if (place != execs_.end()) {
        nodes = std::move(place->second);
        execs_.erase(place);
    }
    if (!core_.release(Space::GraphExec, event.object, event) || nodes == nullptr) return;
    const auto mark = [this](const Nodes& all, bool destroyed) {
        for (const auto& node : all) {
            Allocation* memory = node->live.get(core_.live());
            if (memory == nullptr) continue;
            memory->flags =
                static_cast<uint8_t>(destroyed ? memory->flags | kOwnerDestroyed : memory->flags & ~kOwnerDestroyed);
        }
    };
    mark(*nodes, true);
    core_.on_refusal([this, nodes, mark, exec = event.object] {
        execs_[exec] = nodes;
        mark(*nodes, false);
    });
}

void Graphs::destroy(const trace::Event& event) {
    // Graphs without memory nodes are made by calls that leave no event: an unknown one is no surprise.
    if (Allocation* graph = core_.live().find(Space::Graph, event.object)) core_.end(graph, Ending::Freed, event);
    const auto place = graphs_.find(event.object);
    if (place == graphs_.end()) return;
    Nodes nodes = std::move(place->second);
    graphs_.erase(place);
    // Children were moved into it and go with it.
    Nodes children;
    for (const auto& node : nodes) {
        if (node->what == Node::What::Child) children.push_back(node);
    }
    core_.on_refusal(
        [this, graph = event.object, nodes = std::move(nodes)]() mutable { graphs_[graph] = std::move(nodes); });
    for (const auto& node : children) {
        trace::Event of_child = event;
        of_child.object = node->child;
        if (of_child.object != event.object) destroy(of_child);
    }
}

}  // namespace vramtrace::replay
