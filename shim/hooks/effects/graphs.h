// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/effects/effect.h"
#include "shim/hooks/effects/graph_memory.h"

namespace vramtrace::shim::graphs {

inline void added_allocation(Call& call, Result result, Handle* node, Handle graph,
                             const GraphAllocParameters& parameters) {
    if (result != kSuccess)
        return call.failed(trace::EventKind::GraphAlloc, result, parameters.bytes, 0, as_number(graph));
    graph_memory_is_used();
    trace::Event event = event_of(trace::EventKind::GraphAlloc);
    event.address = parameters.address;
    event.size = parameters.bytes;
    event.object = as_number(graph);
    event.aux = as_number(*node);
    call.allocated(event);
}

inline void added_free(Call& call, Result result, Handle* node, Handle graph, DevicePointer address) {
    if (result != kSuccess) return;
    graph_memory_is_used();
    trace::Event event = event_of(trace::EventKind::GraphFree);
    event.address = address;
    event.object = as_number(graph);
    event.aux = as_number(*node);
    call.noted(event);
}

inline void added_child(Call& call, Result result, Handle graph, Handle child) {
    if (result != kSuccess) return;
    trace::Event event = event_of(trace::EventKind::GraphChild);
    event.object = as_number(graph);
    event.aux = as_number(child);
    call.noted(event);
}

inline void added_node(Call& call, Result result, Handle* node, Handle graph, const GraphNodeParameters* parameters) {
    if (node == nullptr || parameters == nullptr) return;
    if (parameters->type == kNodeAlloc) added_allocation(call, result, node, graph, parameters->alloc);
    if (parameters->type == kNodeFree) added_free(call, result, node, graph, parameters->free_address);
    if (parameters->type == kNodeChildGraph) added_child(call, result, graph, parameters->child_graph);
}

struct AddsAllocation : Making {
    void after(Call& call, Result result, Handle* node, Handle graph, const Handle*, size_t,
               GraphAllocParameters* parameters) {
        if (node != nullptr && parameters != nullptr) added_allocation(call, result, node, graph, *parameters);
    }
};

struct AddsFree : Making {
    void after(Call& call, Result result, Handle* node, Handle graph, const Handle*, size_t, DevicePointer address) {
        if (node != nullptr) added_free(call, result, node, graph, address);
    }
};

struct AddsNode : Making {
    void after(Call& call, Result result, Handle* node, Handle graph, const Handle*, size_t,
               GraphNodeParameters* parameters) {
        added_node(call, result, node, graph, parameters);
    }
};

struct AddsNodeWithEdges : Making {
    void after(Call& call, Result result, Handle* node, Handle graph, const Handle*, const void*, size_t,
               GraphNodeParameters* parameters) {
        added_node(call, result, node, graph, parameters);
    }
};

struct AddsChild : Making {
    void after(Call& call, Result result, Handle*, Handle graph, const Handle*, size_t, Handle child) {
        added_child(call, result, graph, child);
    }
};

inline void instantiated(Call& call, Result result, Handle* exec, Handle graph, uint64_t flags) {
    if (exec == nullptr) return;
    if (result != kSuccess) {
        // Instantiating can need memory, but only a graph that owns some says which failure that is.
        if (is_graph_memory_used()) call.failed(trace::EventKind::GraphInstantiate, result, 0, 0, as_number(graph));
        return;
    }
    trace::Event event = event_of(trace::EventKind::GraphInstantiate);
    event.object = as_number(*exec);
    event.aux = as_number(graph);
    event.size = flags;
    call.noted(event);
}

struct Instantiates : Making {
    void after(Call& call, Result result, Handle* exec, Handle graph, Handle*, char*, size_t) {
        instantiated(call, result, exec, graph, 0);
    }
};

struct InstantiatesWithFlags : Making {
    void after(Call& call, Result result, Handle* exec, Handle graph, LongFlags flags) {
        instantiated(call, result, exec, graph, flags);
    }
};

struct InstantiatesWithParameters : Making {
    void after(Call& call, Result result, Handle* exec, Handle graph, GraphInstantiateParameters* parameters) {
        if (parameters != nullptr) instantiated(call, result, exec, graph, parameters->flags);
    }
};

struct Launches : Making {
    void after(Call& call, Result result, Handle exec, Handle stream) {
        if (!is_graph_memory_used()) return;
        if (result != kSuccess) return call.failed(trace::EventKind::GraphLaunch, result, 0, 0, as_number(exec));
        trace::Event event = event_of(trace::EventKind::GraphLaunch);
        event.object = as_number(exec);
        event.aux = as_number(stream);
        call.noted(event, WithStack::No);
    }
};

struct DestroysExec : Ending {
    void before(Call& call, Handle exec) { release_object(call, trace::EventKind::GraphExecDestroy, as_number(exec)); }
};

struct Destroys : Ending {
    void before(Call& call, Handle graph) { release_object(call, trace::EventKind::GraphDestroy, as_number(graph)); }
};

struct DestroysNode : Ending {
    void before(Call& call, Handle node) {
        if (node == nullptr || !is_graph_memory_used()) return;
        trace::Event event = event_of(trace::EventKind::GraphNodeDestroy);
        event.aux = as_number(node);
        call.releasing(event);
    }
};

struct Trims : Making {
    void after(Call& call, Result result, Ordinal device) {
        if (result != kSuccess) return;
        trace::Event event = event_of(trace::EventKind::GraphTrim);
        event.device = device_number(device);
        call.noted(event);
        call.sample_memory();
    }
};

}  // namespace vramtrace::shim::graphs
