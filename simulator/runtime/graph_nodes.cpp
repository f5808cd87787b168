// SPDX-License-Identifier: Apache-2.0
// Graph nodes.
#include "simulator/runtime/copy_parameters.h"
#include "simulator/runtime/device_variables.h"

#include <cuda_runtime_api.h>

#include "simulator/runtime/names_12.h"

#include <cstring>
#include <vector>

using namespace vramtrace::simulator::runtime;

namespace {

CUmemLocation driver_location(const cudaMemLocation& location) {
    CUmemLocation result = {};
    result.type = static_cast<CUmemLocationType>(location.type);
    result.id = location.id;
    return result;
}

// Allocation nodes have one shape in both APIs but for the types of the enumerations.
template <typename RuntimeParameters, typename DriverParameters>
std::vector<CUmemAccessDesc> describe_allocation(const RuntimeParameters& from, DriverParameters* to) {
    to->poolProps = {};
    to->poolProps.allocType = static_cast<CUmemAllocationType>(from.poolProps.allocType);
    to->poolProps.handleTypes = static_cast<CUmemAllocationHandleType>(from.poolProps.handleTypes);
    to->poolProps.location = driver_location(from.poolProps.location);
    to->poolProps.maxSize = from.poolProps.maxSize;
    std::vector<CUmemAccessDesc> access(from.accessDescs != nullptr ? from.accessDescCount : 0);
    for (size_t i = 0; i < access.size(); ++i) {
        access[i].location = driver_location(from.accessDescs[i].location);
        access[i].flags = static_cast<CUmemAccess_flags>(from.accessDescs[i].flags);
    }
    to->accessDescs = access.empty() ? nullptr : access.data();
    to->accessDescCount = access.size();
    to->bytesize = from.bytesize;
    to->dptr = 0;
    return access;  // must outlive the call; moving a vector keeps its storage
}

cudaError_t describe_kernel(const DriverCalls& driver, const cudaKernelNodeParams& from,
                            CUDA_KERNEL_NODE_PARAMS_v2* to) {
    RegisteredKernel* kernel = nullptr;
    const cudaError_t error = find_kernel(driver, from.func, &kernel);
    if (error != cudaSuccess) return error;
    *to = {};
    to->kern = kernel != nullptr ? kernel->handle : static_cast<CUkernel>(from.func);
    to->gridDimX = from.gridDim.x;
    to->gridDimY = from.gridDim.y;
    to->gridDimZ = from.gridDim.z;
    to->blockDimX = from.blockDim.x;
    to->blockDimY = from.blockDim.y;
    to->blockDimZ = from.blockDim.z;
    to->sharedMemBytes = from.sharedMemBytes;
    to->kernelParams = from.kernelParams;
    to->extra = from.extra;
    return cudaSuccess;
}

CUcontext context_of_thread(const DriverCalls& driver) {
    CUcontext context = nullptr;
    driver.cuCtxGetCurrent_v4000(&context);
    return context;
}

}  // namespace

extern "C" {

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, struct cudaMemAllocNodeParams* parameters) {
    return with_context([&](const DriverCalls& driver) {
        if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 wanted = {};
        const auto access = describe_allocation(*parameters, &wanted);
        const CUresult result = driver.cuGraphAddMemAllocNode_v11040(node, graph, dependencies, count, &wanted);
        if (result == CUDA_SUCCESS) parameters->dptr = reinterpret_cast<void*>(wanted.dptr);
        return result;
    });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                    size_t count, void* pointer) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphAddMemFreeNode_v11040(node, graph, dependencies, count, device_address(pointer));
    });
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams* parameters) {
    return with_context([&](const DriverCalls& driver) {
        if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 answer = {};
        const CUresult result = driver.cuGraphMemAllocNodeGetParams_v11040(node, &answer);
        *parameters = {};
        parameters->poolProps.allocType = static_cast<cudaMemAllocationType>(answer.poolProps.allocType);
        parameters->poolProps.location.type = static_cast<cudaMemLocationType>(answer.poolProps.location.type);
        parameters->poolProps.location.id = answer.poolProps.location.id;
        parameters->bytesize = answer.bytesize;
        parameters->dptr = reinterpret_cast<void*>(answer.dptr);
        return result;
    });
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphMemFreeNodeGetParams_v11040(node, static_cast<CUdeviceptr*>(pointer));
    });
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData* edges, size_t count, struct cudaGraphNodeParams* parameters) {
    static_assert(sizeof(cudaGraphNodeParams) == sizeof(CUgraphNodeParams));
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (parameters == nullptr) return cudaErrorInvalidValue;
        CUgraphNodeParams wanted;
        // Host, event, child and free nodes are alike in both APIs; the others are rewritten below.
        std::memcpy(&wanted, parameters, sizeof wanted);
        std::vector<CUmemAccessDesc> access;
        if (parameters->type == cudaGraphNodeTypeMemAlloc) {
            access = describe_allocation(parameters->alloc, &wanted.alloc);
        } else if (parameters->type == cudaGraphNodeTypeKernel || parameters->type == cudaGraphNodeTypeMemcpy ||
                   parameters->type == cudaGraphNodeTypeMemset) {
            return cudaErrorNotSupported;  // their own functions add these
        }
        const CUresult result = driver.cuGraphAddNode_v12030(
            node, graph, dependencies, reinterpret_cast<const CUgraphEdgeData*>(edges), count, &wanted);
        if (result == CUDA_SUCCESS && parameters->type == cudaGraphNodeTypeMemAlloc) {
            parameters->alloc.dptr = reinterpret_cast<void*>(wanted.alloc.dptr);
        }
        return to_error(result);
    });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                  size_t count) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphAddEmptyNode_v10000(node, graph, dependencies, count); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                       size_t count, cudaGraph_t child) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphAddChildGraphNode_v10000(node, graph, dependencies, count, child);
    });
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuGraphChildGraphNodeGetGraph_v10000(node, graph); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                 size_t count, const struct cudaHostNodeParams* parameters) {
    return with_context([&](const DriverCalls& driver) {
        if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUDA_HOST_NODE_PARAMS_v1 wanted = {};
        wanted.fn = parameters->fn;
        wanted.userData = parameters->userData;
        return driver.cuGraphAddHostNode_v10000(node, graph, dependencies, count, &wanted);
    });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                        size_t count, cudaEvent_t event) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphAddEventRecordNode_v11010(node, graph, dependencies, count, event);
    });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                      size_t count, cudaEvent_t event) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuGraphAddEventWaitNode_v11010(node, graph, dependencies, count, event);
    });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const struct cudaKernelNodeParams* parameters) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (parameters == nullptr) return cudaErrorInvalidValue;
        CUDA_KERNEL_NODE_PARAMS_v2 wanted = {};
        const cudaError_t error = describe_kernel(driver, *parameters, &wanted);
        if (error != cudaSuccess) return error;
        // A kernel unknown to the driver does as little as an empty node.
        if (wanted.kern == nullptr) {
            return to_error(driver.cuGraphAddEmptyNode_v10000(node, graph, dependencies, count));
        }
        return to_error(driver.cuGraphAddKernelNode_v12000(node, graph, dependencies, count, &wanted));
    });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const struct cudaMemsetParams* parameters) {
    return with_context([&](const DriverCalls& driver) {
        if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUDA_MEMSET_NODE_PARAMS_v1 wanted = {};
        wanted.dst = device_address(parameters->dst);
        wanted.pitch = parameters->pitch;
        wanted.value = parameters->value;
        wanted.elementSize = parameters->elementSize;
        wanted.width = parameters->width;
        wanted.height = parameters->height;
        return driver.cuGraphAddMemsetNode_v10000(node, graph, dependencies, count, &wanted, context_of_thread(driver));
    });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const struct cudaMemcpy3DParms* parameters) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        if (parameters == nullptr) return cudaErrorInvalidValue;
        CUDA_MEMCPY3D copy = {};
        const cudaError_t error = describe_copy(driver, *parameters, &copy);
        if (error != cudaSuccess) return error;
        return to_error(
            driver.cuGraphAddMemcpyNode_v10000(node, graph, dependencies, count, &copy, context_of_thread(driver)));
    });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind) {
    return with_context([&](const DriverCalls& driver) {
        CopySide target;
        target.pointer = to;
        target.pitch = bytes;
        target.rows = 1;
        CopySide source;
        source.pointer = from;
        source.pitch = bytes;
        source.rows = 1;
        const CUDA_MEMCPY3D copy = describe_copy(target, source, bytes, 1, 1, kind);
        return driver.cuGraphAddMemcpyNode_v10000(node, graph, dependencies, count, &copy, context_of_thread(driver));
    });
}

}  // extern "C"
