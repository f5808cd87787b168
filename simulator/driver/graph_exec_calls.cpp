// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "simulator/driver/graph_memory.h"
#include "simulator/driver/graphs.h"

using namespace vramtrace::simulator;

namespace {

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

SIM_API(cuGraphExecUpdate_v2, (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo* resultInfo),
        (hGraphExec, hGraph, resultInfo)) {
    require(resultInfo != nullptr);
    resultInfo->errorNode = nullptr;
    resultInfo->errorFromNode = nullptr;
    return update(hGraphExec, hGraph, &resultInfo->result);
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
        case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
            out = use.used;
            break;
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
            out = use.used_high;
            break;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
            out = found.memory.used(Use::kGraphs);
            break;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
            out = use.reserved_high;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceSetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attr, void* value),
        (device, attr, value)) {
    require(value != nullptr && *static_cast<cuuint64_t*>(value) == 0);
    Device& found = device_of(device);
    GraphMemoryUse& use = graph_memory_use(found);
    switch (attr) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
            use.used_high = use.used;
            break;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
            use.reserved_high = found.memory.used(Use::kGraphs);
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
