// SPDX-License-Identifier: Apache-2.0
// Stream captures: work becomes nodes of a graph. A call that cannot be captured invalidates every capture it breaks:
//
//   BeginCapture -> ACTIVE --unsafe call (900)--> INVALIDATED --EndCapture (901)--> none
//                      \--EndCapture--> none, with a graph
#include <algorithm>

#include "simulator/driver/graphs.h"
#include "simulator/driver/streams.h"

namespace vramtrace::simulator {

struct Capture {
    Graph* graph = nullptr;
    bool owns_graph = true;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;
    Stream* origin = nullptr;
    bool invalidated = false;
    uint64_t id = 0;
    std::set<Stream*> streams;
};

namespace {

thread_local CUstreamCaptureMode mode_here = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::vector<std::unique_ptr<Capture>>& captures() {
    static auto* const all = new std::vector<std::unique_ptr<Capture>>;
    return *all;
}

bool breaks(const Capture& capture) {
    if (mode_here == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return false;
    }
    if (capture.thread == std::this_thread::get_id()) {
        return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    }
    return mode_here == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

void end(Capture& capture) {
    for (Stream* stream : capture.streams) {
        stream->capture = nullptr;
        stream->last_nodes.clear();
    }
    events().for_each([&](Event& event) {
        if (event.capture == &capture) {
            event.capture = nullptr;
            event.nodes.clear();
        }
    });
    std::erase_if(captures(), [&](const auto& one) { return one.get() == &capture; });
}

void discard(Capture& capture) {
    if (capture.owns_graph) {
        end_graph(*capture.graph);
    }
    end(capture);
}

void begin(CUstream handle, CUstreamCaptureMode mode, Graph* graph, std::vector<Node*> first) {
    static uint64_t last_id = 0;
    Stream& stream = stream_of(handle);
    require(mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    require(&stream != stream.context->owner().legacy_stream.get(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require(stream.capture == nullptr, CUDA_ERROR_ILLEGAL_STATE);
    auto capture = std::make_unique<Capture>();
    capture->owns_graph = graph == nullptr;
    capture->graph = graph != nullptr ? graph : &make_graph();
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->origin = &stream;
    capture->id = ++last_id;
    capture->streams.insert(&stream);
    stream.capture = capture.get();
    stream.last_nodes = std::move(first);
    captures().push_back(std::move(capture));
}

// Every node must lead back to the stream the capture began on.
bool all_joined(const Capture& capture) {
    for (const Stream* stream : capture.streams) {
        if (stream == capture.origin) {
            continue;
        }
        for (const Node* last : stream->last_nodes) {
            const auto& ends = capture.origin->last_nodes;
            bool joined = std::find(ends.begin(), ends.end(), last) != ends.end();
            for (const auto& node : capture.graph->nodes) {
                const auto& needs = node->dependencies;
                joined = joined || std::find(needs.begin(), needs.end(), last) != needs.end();
            }
            if (!joined) {
                return false;
            }
        }
    }
    return true;
}

CUstreamCaptureStatus status_of(const Stream& stream) {
    return stream.capture == nullptr     ? CU_STREAM_CAPTURE_STATUS_NONE
           : stream.capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult end_capture(CUstream handle, CUgraph* graph) {
    require(graph != nullptr);
    Stream& stream = stream_of(handle);
    Capture* capture = stream.capture;
    require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    require(capture->origin == &stream, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    require(capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED || capture->thread == std::this_thread::get_id(),
            CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    *graph = nullptr;
    if (capture->invalidated) {
        discard(*capture);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (!all_joined(*capture)) {
        discard(*capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    *graph = handle_of(*capture->graph);
    end(*capture);
    return CUDA_SUCCESS;
}

CUresult describe(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                  const CUgraphNode** dependencies, size_t* count) {
    require(status != nullptr);
    Stream& stream = stream_of(handle);
    *status = status_of(stream);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        return CUDA_SUCCESS;
    }
    if (id != nullptr) {
        *id = stream.capture->id;
    }
    if (graph != nullptr) {
        *graph = handle_of(*stream.capture->graph);
    }
    if (count != nullptr) {
        *count = stream.last_nodes.size();
    }
    if (dependencies != nullptr) {
        // Node handles are the nodes' addresses, so the stream's own list serves; valid until its next operation.
        *dependencies = reinterpret_cast<const CUgraphNode*>(stream.last_nodes.data());
    }
    return CUDA_SUCCESS;
}

CUresult set_dependencies(CUstream handle, CUgraphNode* nodes, size_t count, unsigned int flags) {
    require(flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    Stream& stream = stream_of(handle);
    require(capturing(stream) != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    std::vector<Node*> named = nodes_of(*stream.capture->graph, nodes, count);
    if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES) {
        stream.last_nodes.insert(stream.last_nodes.end(), named.begin(), named.end());
    } else {
        stream.last_nodes = std::move(named);
    }
    return CUDA_SUCCESS;
}

}  // namespace

Capture* capturing(Stream& stream) {
    if (stream.capture != nullptr) {
        require(!stream.capture->invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        return stream.capture;
    }
    // The legacy stream waits for all blocking streams, which cannot be captured.
    if (stream.context->owner().legacy_stream.get() == &stream) {
        for (const auto& capture : captures()) {
            const bool blocking = (capture->origin->flags & CU_STREAM_NON_BLOCKING) == 0;
            if (blocking && &capture->origin->context->owner() == &stream.context->owner() && breaks(*capture)) {
                invalidate(*capture);
                refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
            }
        }
    }
    return nullptr;
}

void invalidate(Capture& capture) {
    capture.invalidated = true;
}

void refuse_in_capture() {
    if (captures().empty()) {
        return;
    }
    bool already = false;
    bool broken = false;
    for (const auto& capture : captures()) {
        if (breaks(*capture)) {
            already = already || capture->invalidated;
            broken = broken || !capture->invalidated;
            capture->invalidated = true;
        }
    }
    require(!broken, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require(!already, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

Node& capture_node(Stream& stream, CUgraphNodeType type) {
    Node& node = add_node(*stream.capture->graph, type, stream.last_nodes);
    stream.last_nodes = {&node};
    return node;
}

void record_in_capture(Stream& stream, Event& event) {
    event.capture = stream.capture;
    event.nodes = stream.last_nodes;
}

void wait_in_capture(Stream& stream, Event& event) {
    if (event.capture == nullptr) {
        // An event from before the capture orders nothing inside it, and the capture cannot wait for it.
        invalidate(*stream.capture);
        refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
    Capture& capture = *event.capture;
    require(!capture.invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (stream.capture != nullptr && stream.capture != &capture) {
        invalidate(*stream.capture);
        invalidate(capture);
        refuse(CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    require(&stream != stream.context->owner().legacy_stream.get(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (stream.capture == nullptr) {
        stream.capture = &capture;
        stream.last_nodes.clear();
        capture.streams.insert(&stream);
    }
    for (Node* node : event.nodes) {
        if (std::find(stream.last_nodes.begin(), stream.last_nodes.end(), node) == stream.last_nodes.end()) {
            stream.last_nodes.push_back(node);
        }
    }
}

void forget_in_captures(Stream& stream) {
    Capture* capture = stream.capture;
    if (capture == nullptr) {
        return;
    }
    if (capture->origin == &stream) {
        discard(*capture);
        return;
    }
    capture->invalidated = true;
    capture->streams.erase(&stream);
    stream.capture = nullptr;
}

}  // namespace vramtrace::simulator

using namespace vramtrace::simulator;

SIM_STREAM_API(cuStreamBeginCapture, _ptsz, (CUstream hStream), (hStream)) {
    begin(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, {});
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamBeginCapture_v2, _ptsz, (CUstream hStream, CUstreamCaptureMode mode), (hStream, mode)) {
    begin(hStream, mode, nullptr, {});
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamBeginCaptureToGraph, _ptsz,
               (CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                const CUgraphEdgeData* dependencyData, size_t numDependencies, CUstreamCaptureMode mode),
               (hStream, hGraph, dependencies, dependencyData, numDependencies, mode)) {
    Graph& graph = graph_of(hGraph);
    begin(hStream, mode, &graph, nodes_of(graph, dependencies, numDependencies));
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamEndCapture, _ptsz, (CUstream hStream, CUgraph* phGraph), (hStream, phGraph)) {
    return end_capture(hStream, phGraph);
}

SIM_STREAM_API(cuStreamIsCapturing, _ptsz, (CUstream hStream, CUstreamCaptureStatus* captureStatus),
               (hStream, captureStatus)) {
    require(captureStatus != nullptr);
    *captureStatus = status_of(stream_of(hStream));
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamGetCaptureInfo, _ptsz,
               (CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out),
               (hStream, captureStatus_out, id_out)) {
    return describe(hStream, captureStatus_out, id_out, nullptr, nullptr, nullptr);
}

SIM_STREAM_API(cuStreamGetCaptureInfo_v2, _ptsz,
               (CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out, CUgraph* graph_out,
                const CUgraphNode** dependencies_out, size_t* numDependencies_out),
               (hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out)) {
    return describe(hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out);
}

SIM_STREAM_API(cuStreamGetCaptureInfo_v3, _ptsz,
               (CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out, CUgraph* graph_out,
                const CUgraphNode** dependencies_out, const CUgraphEdgeData** edgeData_out,
                size_t* numDependencies_out),
               (hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out)) {
    if (edgeData_out != nullptr) {
        *edgeData_out = nullptr;
    }
    return describe(hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out);
}

SIM_STREAM_API(cuStreamUpdateCaptureDependencies, _ptsz,
               (CUstream hStream, CUgraphNode* dependencies, size_t numDependencies, unsigned int flags),
               (hStream, dependencies, numDependencies, flags)) {
    return set_dependencies(hStream, dependencies, numDependencies, flags);
}

SIM_STREAM_API(cuStreamUpdateCaptureDependencies_v2, _ptsz,
               (CUstream hStream, CUgraphNode* dependencies, const CUgraphEdgeData* dependencyData,
                size_t numDependencies, unsigned int flags),
               (hStream, dependencies, dependencyData, numDependencies, flags)) {
    return set_dependencies(hStream, dependencies, numDependencies, flags);
}

SIM_API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), (mode)) {
    require(mode != nullptr && *mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    std::swap(*mode, mode_here);
    return CUDA_SUCCESS;
}
