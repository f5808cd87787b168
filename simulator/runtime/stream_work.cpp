// SPDX-License-Identifier: Apache-2.0
// Work on streams: waiting, recording, callbacks, capture, graph launches.
// Compiled twice: for the legacy and for the per-thread default stream.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

#include "simulator/runtime/names_12.h"

using namespace vramtrace::simulator::runtime;

namespace {

// What cudaStreamAddCallback must hand on when the driver calls back.
struct CallbackArguments {
    cudaStreamCallback_t callback;
    void* user_data;
};

void CUDA_CB run_callback(CUstream stream, CUresult status, void* user_data) {
    const CallbackArguments arguments = *static_cast<CallbackArguments*>(user_data);
    delete static_cast<CallbackArguments*>(user_data);
    arguments.callback(stream, to_error(status), arguments.user_data);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamSynchronize_v2000, cuStreamSynchronize_v7000_ptsz)(stream);
    });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamQuery_v2000, cuStreamQuery_v7000_ptsz)(stream);
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamWaitEvent_v3020, cuStreamWaitEvent_v7000_ptsz)(stream, event, flags);
    });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* user_data,
                                  unsigned int flags) {
    return with_context([&](const DriverCalls& driver) {
        if (callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
        auto* arguments = new CallbackArguments{callback, user_data};
        const CUresult result = driver.OF_DEFAULT_STREAM(cuStreamAddCallback_v5000, cuStreamAddCallback_v7000_ptsz)(
            stream, run_callback, arguments, flags);
        if (result != CUDA_SUCCESS) delete arguments;
        return result;
    });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuLaunchHostFunc_v10000, cuLaunchHostFunc_v10000_ptsz)(stream, function,
                                                                                               user_data);
    });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamGetFlags_v5050, cuStreamGetFlags_v7000_ptsz)(stream, flags);
    });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamGetPriority_v5050, cuStreamGetPriority_v7000_ptsz)(stream, priority);
    });
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamGetId_v12000, cuStreamGetId_v12000_ptsz)(stream, id);
    });
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamGetDevice_v12080, cuStreamGetDevice_v12080_ptsz)(stream, device);
    });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuEventRecord_v2000, cuEventRecord_v7000_ptsz)(event, stream);
    });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuEventRecordWithFlags_v11010, cuEventRecordWithFlags_v11010_ptsz)(
            event, stream, flags);
    });
}

// ---- capture ----

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamBeginCapture_v10010, cuStreamBeginCapture_v10010_ptsz)(
            stream, static_cast<CUstreamCaptureMode>(mode));
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamEndCapture_v10000, cuStreamEndCapture_v10000_ptsz)(stream, graph);
    });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamIsCapturing_v10000, cuStreamIsCapturing_v10000_ptsz)(
            stream, reinterpret_cast<CUstreamCaptureStatus*>(status));
    });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuStreamGetCaptureInfo_v12030, cuStreamGetCaptureInfo_v12030_ptsz)(
            stream, reinterpret_cast<CUstreamCaptureStatus*>(status), reinterpret_cast<cuuint64_t*>(id), graph,
            dependencies, reinterpret_cast<const CUgraphEdgeData**>(edges), count);
    });
}

// ---- graphs ----

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
    return with_context([&](const DriverCalls& driver) {
        if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUDA_GRAPH_INSTANTIATE_PARAMS driver_parameters = {};
        driver_parameters.flags = parameters->flags;
        driver_parameters.hUploadStream = parameters->uploadStream;
        const CUresult result =
            driver.OF_DEFAULT_STREAM(cuGraphInstantiateWithParams_v12000, cuGraphInstantiateWithParams_v12000_ptsz)(
                executable, graph, &driver_parameters);
        parameters->errNode_out = driver_parameters.hErrNode_out;
        parameters->result_out = static_cast<cudaGraphInstantiateResult>(driver_parameters.result_out);
        return result;
    });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuGraphUpload_v11010, cuGraphUpload_v11010_ptsz)(executable, stream);
    });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) {
        return driver.OF_DEFAULT_STREAM(cuGraphLaunch_v10000, cuGraphLaunch_v10000_ptsz)(executable, stream);
    });
}

// ---- driver entry points: asked at the time of the call, with the caller's version ----

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult* answer) {
    return with_driver([&](const DriverCalls& driver) {
        CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
        const cuuint64_t by_default = OF_DEFAULT_STREAM(0, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        const cuuint64_t kind = flags != 0 ? flags : by_default;
        const CUresult result =
            driver.cuGetProcAddress_v12000(symbol, function, static_cast<int>(version), kind, &status);
        if (answer != nullptr) *answer = static_cast<cudaDriverEntryPointQueryResult>(status);
        return result;
    });
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult* answer) {
    return cudaGetDriverEntryPointByVersion(symbol, function, kRuntimeVersion, flags, answer);
}

}  // extern "C"
