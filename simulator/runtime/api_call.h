// SPDX-License-Identifier: Apache-2.0
// The frame around every runtime function: reach the driver, make a context current if the call needs one, translate
// the driver's code, remember it as the thread's last error.
#pragma once

#include "simulator/runtime/driver_calls.h"
#include "simulator/runtime/primary_context.h"

namespace vramtrace::simulator::runtime {

/// Keeps `error` for cudaGetLastError unless it is cudaSuccess; returns it.
cudaError_t report(cudaError_t error);

/// Driver and runtime number their errors alike since CUDA 10.1.
inline cudaError_t to_error(CUresult result) {
    return static_cast<cudaError_t>(result);
}
inline cudaError_t to_error(cudaError_t error) {
    return error;
}

/// Runs `body(driver table)`, which returns CUresult or cudaError_t.
template <typename Body>
cudaError_t with_driver(Body&& body) {
    const DriverAccess& access = driver_access();
    const cudaError_t unusable = access.error.load(std::memory_order_relaxed);
    if (unusable != cudaSuccess) return report(unusable);
    return report(to_error(body(access.calls)));
}

/// The same, with a context current on this thread: the caller's own or the primary one of its device.
template <typename Body>
cudaError_t with_context(Body&& body) {
    return with_driver([&](const DriverCalls& driver) -> cudaError_t {
        const cudaError_t error = ensure_context(driver);
        return error != cudaSuccess ? error : to_error(body(driver));
    });
}

/// Device addresses are pointers to the runtime and integers to the driver.
inline CUdeviceptr device_address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}
inline CUdeviceptr* device_address_out(void** pointer) {
    return reinterpret_cast<CUdeviceptr*>(pointer);
}

// Files whose functions exist once per kind of default stream are compiled twice: with per-thread streams the public
// headers rename the functions and this macro picks the driver entry of that kind.
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define OF_DEFAULT_STREAM(legacy, per_thread) per_thread
#else
#define OF_DEFAULT_STREAM(legacy, per_thread) legacy
#endif

}  // namespace vramtrace::simulator::runtime
