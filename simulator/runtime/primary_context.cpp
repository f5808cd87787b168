// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/primary_context.h"

#include <atomic>
#include <mutex>

namespace vramtrace::simulator::runtime {
namespace {

constexpr int kMaxDevices = 64;

struct Primary {
    CUcontext context = nullptr;  // survives a reset, to recognise the dead context on threads that still hold it
    int retained = 0;             // references to give back at exit; a reset takes the use away, not the references
    bool alive = false;
};

std::mutex mutex_;
std::atomic<bool> any_reset_{false};  // lets the common case skip the lock; release and acquire pair within this file
Primary primaries_[kMaxDevices];
thread_local int chosen_device_ = 0;

cudaError_t bind_primary(const DriverCalls& driver, int device) {
    CUcontext context = nullptr;
    const cudaError_t error = primary_context(driver, device, &context);
    return error != cudaSuccess ? error : static_cast<cudaError_t>(driver.cuCtxSetCurrent_v4000(context));
}

bool is_dead_primary(CUcontext context) {
    if (!any_reset_.load(std::memory_order_acquire)) return false;
    std::lock_guard lock(mutex_);
    for (const Primary& primary : primaries_) {
        if (primary.context == context) return !primary.alive;
    }
    return false;
}

}  // namespace

cudaError_t primary_context(const DriverCalls& driver, int device, CUcontext* context) {
    if (device < 0 || device >= kMaxDevices) return cudaErrorInvalidDevice;
    std::lock_guard lock(mutex_);
    Primary& primary = primaries_[device];
    if (!primary.alive) {
        CUdevice handle = 0;
        CUresult result = driver.cuDeviceGet_v2000(&handle, device);
        if (result == CUDA_SUCCESS) result = driver.cuDevicePrimaryCtxRetain_v7000(&primary.context, handle);
        if (result != CUDA_SUCCESS) return static_cast<cudaError_t>(result);
        primary.alive = true;
        ++primary.retained;
    }
    *context = primary.context;
    return cudaSuccess;
}

cudaError_t ensure_context(const DriverCalls& driver) {
    CUcontext context = nullptr;
    const CUresult result = driver.cuCtxGetCurrent_v4000(&context);
    if (result != CUDA_SUCCESS) return static_cast<cudaError_t>(result);
    if (context != nullptr && !is_dead_primary(context)) return cudaSuccess;
    return bind_primary(driver, chosen_device_);
}

cudaError_t choose_device(const DriverCalls& driver, int device) {
    int count = 0;
    if (driver.cuDeviceGetCount_v2000(&count) != CUDA_SUCCESS || device < 0 || device >= count) {
        return cudaErrorInvalidDevice;
    }
    chosen_device_ = device;
    return bind_primary(driver, device);
}

int current_device(const DriverCalls& driver) {
    CUcontext context = nullptr;
    CUdevice device = chosen_device_;
    if (driver.cuCtxGetCurrent_v4000(&context) == CUDA_SUCCESS && context != nullptr && !is_dead_primary(context)) {
        driver.cuCtxGetDevice_v2000(&device);
    }
    return device;
}

cudaError_t reset_device(const DriverCalls& driver) {
    const int device = current_device(driver);
    if (device < 0 || device >= kMaxDevices) return cudaErrorInvalidDevice;
    CUcontext context = nullptr;
    {
        std::lock_guard lock(mutex_);
        context = primaries_[device].context;
    }
    unsigned int api_version = 0;
    driver.cuCtxGetApiVersion_v3020(context, &api_version);
    const CUresult result = driver.cuDevicePrimaryCtxReset_v7000(device);
    std::lock_guard lock(mutex_);
    if (result == CUDA_SUCCESS) {
        primaries_[device].alive = false;
        any_reset_.store(true, std::memory_order_release);
    }
    return static_cast<cudaError_t>(result);
}

void release_everything(const DriverCalls& driver) {
    unload_libraries(driver);
    std::lock_guard lock(mutex_);
    for (int device = 0; device < kMaxDevices; ++device) {
        Primary& primary = primaries_[device];
        primary.alive = false;
        // A driver that counts a reset as the end of all references refuses the surplus releases; that is the end too.
        while (primary.retained > 0 && driver.cuDevicePrimaryCtxRelease_v7000(device) == CUDA_SUCCESS) {
            --primary.retained;
        }
        primary.retained = 0;
    }
}

}  // namespace vramtrace::simulator::runtime
