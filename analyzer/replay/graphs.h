// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "analyzer/replay/core.h"

namespace vramtrace::replay {

// MEMORY OF GRAPHS. An allocation node has its address for ever, and memory from a launch on:
//
//   node added or captured        nothing is live
//   launch of an executable graph  every allocation node of it that is not live becomes live, in the order in which the
//                                  nodes were made; its free nodes end what is live at their address
//   …                              live, also across a second launch and when graph and executable graph are destroyed
//   free node of a launch, cuMemFree, cuMemFreeAsync                                            no longer live
//
// Relaunching an executable graph with "free on launch" ends and makes the same memory at the same address: it stays one
// allocation. The site is that of the node (where the capture asked for it), the birth that of the launch.
class Graphs {
public:
    explicit Graphs(Core& core) : core_(core) {}

    void add_alloc(const trace::Event& event);
    void add_free(const trace::Event& event);
    void add_child(const trace::Event& event);
    void destroy_node(const trace::Event& event);
    void begin_capture(const trace::Event& event);
    void end_capture(const trace::Event& event);
    void instantiate(const trace::Event& event);
    void launch(const trace::Event& event);
    void destroy_exec(const trace::Event& event);
    void destroy(const trace::Event& event);
    // Nodes, for tests of memory use.
    size_t known() const { return graphs_.size() + execs_.size() + captures_.size(); }

private:
    struct Node {
        enum class What : uint8_t { Alloc, Free, Child } what = What::Alloc;
        uint64_t node = 0;
        uint64_t address = 0;
        uint64_t bytes = 0;
        uint64_t child = 0;  // graph
        Origin origin;
        Reference live;  // the memory of the last launch
    };
    // Nodes are shared between a graph and its executable graph: "live" is one state.
    using Nodes = std::vector<std::shared_ptr<Node>>;
    struct Capture {
        uint32_t thread = 0;
        uint64_t graph = 0;  // if an event has named it
        Nodes nodes;         // captured before any event named the graph
    };

    void add(const trace::Event& event, std::shared_ptr<Node> node);
    void make_handle(uint64_t graph, const trace::Event& event);
    void collect(uint64_t graph, Nodes& nodes, unsigned depth) const;
    void start(Node& node, const trace::Event& event);
    Capture* capture_of(uint32_t thread);

    Core& core_;
    std::unordered_map<uint64_t, Nodes> graphs_;  // only those with memory nodes or children
    std::unordered_map<uint64_t, std::shared_ptr<const Nodes>> execs_;
    std::unordered_map<uint64_t, Capture> captures_;  // by stream
};

}  // namespace vramtrace::replay
