// SPDX-License-Identifier: Apache-2.0
// Streams and events: what does not depend on the kind of default stream.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

#include <cstring>

using namespace vramtrace::simulator::runtime;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return with_context([&](const DriverCalls& driver) { return driver.cuStreamCreate_v2000(stream, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) { return driver.cuStreamCreate_v2000(stream, flags); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuStreamCreateWithPriority_v5050(stream, flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return with_context([&](const DriverCalls& driver) { return driver.cuStreamDestroy_v4000(stream); });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuThreadExchangeStreamCaptureMode_v10010(reinterpret_cast<CUstreamCaptureMode*>(mode));
    });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return with_context([&](const DriverCalls& driver) { return driver.cuEventCreate_v2000(event, 0); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) { return driver.cuEventCreate_v2000(event, flags); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return with_context([&](const DriverCalls& driver) { return driver.cuEventQuery_v2000(event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return with_context([&](const DriverCalls& driver) { return driver.cuEventSynchronize_v2000(event); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return with_context([&](const DriverCalls& driver) { return driver.cuEventDestroy_v4000(event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return with_context([&](const DriverCalls& driver) {
        if constexpr (kRuntimeMajor >= 13) return driver.cuEventElapsedTime_v12080(milliseconds, start, end);
        return driver.cuEventElapsedTime_v2000(milliseconds, start, end);
    });
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
    static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle));
    return with_context([&](const DriverCalls& driver) {
        return driver.cuIpcGetEventHandle_v4010(reinterpret_cast<CUipcEventHandle*>(handle), event);
    });
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
    return with_context([&](const DriverCalls& driver) {
        CUipcEventHandle driver_handle;
        std::memcpy(&driver_handle, &handle, sizeof handle);
        return driver.cuIpcOpenEventHandle_v4010(event, driver_handle);
    });
}

}  // extern "C"
