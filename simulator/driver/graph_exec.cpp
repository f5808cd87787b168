// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "simulator/driver/copies.h"
#include "simulator/driver/graph_memory.h"
#include "simulator/driver/graphs.h"

namespace vramtrace::simulator {
namespace {

void add_steps(GraphExec& exec, const Graph& graph) {
    for (const Node* node : sorted(graph)) {
        exec.steps.push_back({*node, node});
        exec.steps.back().node.dependencies.clear();
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
            exec.addresses.push_back(node->alloc.dptr);
            share_graph_address(node->alloc.dptr);
        }
        if (node->child) {
            add_steps(exec, *node->child);
        }
    }
}

}  // namespace

ExecTable& graph_execs() {
    static auto* const table = new ExecTable;
    return *table;
}

GraphExec& instantiate(Graph& graph, unsigned long long flags) {
    require(!graph.is_child);
    const bool memory = has_memory_nodes(graph);
    require(!memory || graph.only_exec == nullptr);
    auto exec = std::make_unique<GraphExec>();
    exec->source = &graph;
    exec->flags = flags;
    add_steps(*exec, graph);
    if (memory) {
        graph.only_exec = exec.get();
    }
    Book::Item item;
    item.kind = VRAMTRACE_SIM_GRAPH_EXEC;
    item.address = reinterpret_cast<uint64_t>(exec.get());
    exec->sequence = add_to_book(item);
    return graph_execs().add(std::move(exec));
}

void end_exec(GraphExec& exec) {
    if (exec.source != nullptr && exec.source->only_exec == &exec) {
        exec.source->only_exec = nullptr;
    }
    for (const uint64_t address : exec.addresses) {
        forget_graph_address(address);
    }
    remove_from_book(exec.sequence);
    graph_execs().remove(exec);
}

void record_event(Event& event, Stream& stream) {
    event.recorded = true;
    event.time = std::chrono::steady_clock::now();
    event.stream = &stream;
    event.capture = nullptr;
    submit(stream);
    event.ticket = stream.submitted;
}

void run_node(const Node& node, Stream& stream) {
    switch (node.type) {
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            copy(node.copy);
            break;
        case CU_GRAPH_NODE_TYPE_MEMSET:
            fill(node.set.dst, node.set.pitch, node.set.value, node.set.elementSize, node.set.width, node.set.height);
            break;
        case CU_GRAPH_NODE_TYPE_HOST:
            Machine::get().after_unlock([host = node.host] { host.fn(host.userData); });
            break;
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            if (Event* event = events().find(node.event)) {
                record_event(*event, stream);
            }
            break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            begin_graph_memory(node.alloc.dptr);
            break;
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            end_graph_memory(node.free);
            break;
        default:
            break;  // kernels do nothing; children were unfolded; waits are over
    }
}

void launch(GraphExec& exec, Stream& stream) {
    const bool frees_itself = (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    for (const uint64_t address : exec.addresses) {
        require(is_graph_address(address));
        require(frees_itself || !is_live_graph_address(address));
    }
    if (frees_itself) {
        for (const uint64_t address : exec.addresses) {
            if (is_live_graph_address(address)) {
                end_graph_memory(address);
            }
        }
    }
    submit(stream);
    std::vector<uint64_t> begun;
    try {
        for (const GraphExec::Step& step : exec.steps) {
            if (!step.node.enabled) {
                continue;
            }
            run_node(step.node, stream);
            if (step.node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
                begun.push_back(step.node.alloc.dptr);
            }
        }
    } catch (const Refusal&) {
        // A launch that does not fit leaves nothing behind.
        for (const uint64_t address : begun) {
            if (is_live_graph_address(address)) {
                end_graph_memory(address);
            }
        }
        throw;
    }
}

}  // namespace vramtrace::simulator
