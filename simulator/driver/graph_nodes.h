// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/driver/graphs.h"

namespace vramtrace::simulator {

// What all calls on nodes begin with: each refuses handles and types that do not fit.
inline Node& add(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUgraphNodeType type) {
    require(out != nullptr);
    Graph& found = graph_of(graph);
    Node& node = add_node(found, type, nodes_of(found, dependencies, count));
    *out = handle_of(node);
    return node;
}

inline Node& typed(CUgraphNode handle, CUgraphNodeType type) {
    Node& node = node_of(handle);
    require(node.type == type);
    return node;
}

inline Node& step_of(CUgraphExec exec, CUgraphNode handle, CUgraphNodeType type) {
    const Node& original = typed(handle, type);
    for (GraphExec::Step& step : graph_execs().get(exec, CUDA_ERROR_INVALID_VALUE).steps) {
        if (step.original == &original) {
            return step.node;
        }
    }
    refuse(CUDA_ERROR_INVALID_VALUE);
}

}  // namespace vramtrace::simulator
