// SPDX-License-Identifier: Apache-2.0
// Devices, versions, limits, peers and driver entry points.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

using namespace vramtrace::simulator::runtime;

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
    if (version == nullptr) return report(cudaErrorInvalidValue);
    *version = driver_access().version;  // 0 without a driver, which is no error
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    if (version == nullptr) return report(cudaErrorInvalidValue);
    *version = kRuntimeVersion;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
    if (count == nullptr) return report(cudaErrorInvalidValue);
    *count = 0;
    return with_driver([&](const DriverCalls& driver) -> cudaError_t {
        const CUresult result = driver.cuDeviceGetCount_v2000(count);
        if (result == CUDA_SUCCESS && *count == 0) return cudaErrorNoDevice;
        return to_error(result);
    });
}

cudaError_t cudaGetDevice(int* device) {
    return with_driver([&](const DriverCalls& driver) -> cudaError_t {
        if (device == nullptr) return cudaErrorInvalidValue;
        *device = current_device(driver);
        return cudaSuccess;
    });
}

cudaError_t cudaSetDevice(int device) {
    return with_driver([&](const DriverCalls& driver) { return choose_device(driver, device); });
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
    return with_driver([&](const DriverCalls& driver) {
        CUcontext context = nullptr;
        return primary_context(driver, device, &context);
    });
}

cudaError_t cudaDeviceReset() {
    return with_driver([&](const DriverCalls& driver) { return reset_device(driver); });
}

cudaError_t cudaDeviceSynchronize() {
    return with_context([&](const DriverCalls& driver) { return driver.cuCtxSynchronize_v2000(); });
}

cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device) {
    // Attribute numbers are the driver's.
    return with_driver([&](const DriverCalls& driver) {
        return driver.cuDeviceGetAttribute_v2000(value, static_cast<CUdevice_attribute>(attribute), device);
    });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
    return with_driver(
        [&](const DriverCalls&) { return devices == nullptr && count != 0 ? cudaErrorInvalidValue : cudaSuccess; });
}

cudaError_t cudaChooseDevice(int* device, const struct cudaDeviceProp* wanted) {
    return with_driver([&](const DriverCalls&) -> cudaError_t {
        if (device == nullptr || wanted == nullptr) return cudaErrorInvalidValue;
        *device = 0;
        return cudaSuccess;
    });
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
    return with_driver([&](const DriverCalls& driver) {
        const unsigned int known = cudaDeviceMask | cudaDeviceSyncMemops;
        if ((flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
        return driver.cuDevicePrimaryCtxSetFlags_v11000(current_device(driver), flags & ~unsigned{cudaDeviceMapHost});
    });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
    return with_driver([&](const DriverCalls& driver) -> cudaError_t {
        if (flags == nullptr) return cudaErrorInvalidValue;
        int active = 0;
        const CUresult result = driver.cuDevicePrimaryCtxGetState_v7000(current_device(driver), flags, &active);
        *flags |= cudaDeviceMapHost;
        return to_error(result);
    });
}

cudaError_t cudaDeviceGetLimit(size_t* value, enum cudaLimit limit) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuCtxGetLimit_v3010(value, static_cast<CUlimit>(limit)); });
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuCtxSetLimit_v3010(static_cast<CUlimit>(limit), value); });
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache* config) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuCtxGetCacheConfig_v3020(reinterpret_cast<CUfunc_cache*>(config));
    });
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuCtxSetCacheConfig_v3020(static_cast<CUfunc_cache>(config)); });
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig* config) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuCtxGetSharedMemConfig_v4020(reinterpret_cast<CUsharedconfig*>(config));
    });
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuCtxSetSharedMemConfig_v4020(static_cast<CUsharedconfig>(config));
    });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuCtxGetStreamPriorityRange_v5050(least, greatest); });
}

cudaError_t cudaCtxResetPersistingL2Cache() {
    return with_context([&](const DriverCalls& driver) { return driver.cuCtxResetPersistingL2Cache_v11000(); });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* bus_id) {
    return with_driver([&](const DriverCalls& driver) { return driver.cuDeviceGetByPCIBusId_v4010(device, bus_id); });
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
    return with_driver(
        [&](const DriverCalls& driver) { return driver.cuDeviceGetPCIBusId_v4010(bus_id, length, device); });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr attribute, int from, int to) {
    return with_driver([&](const DriverCalls& driver) {
        return driver.cuDeviceGetP2PAttribute_v8000(value, static_cast<CUdevice_P2PAttribute>(attribute), from, to);
    });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    return with_driver(
        [&](const DriverCalls& driver) { return driver.cuDeviceCanAccessPeer_v4000(can, device, peer); });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        CUcontext context = nullptr;
        const cudaError_t error = primary_context(driver, peer, &context);
        return error != cudaSuccess ? error : to_error(driver.cuCtxEnablePeerAccess_v4000(context, flags));
    });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        CUcontext context = nullptr;
        const cudaError_t error = primary_context(driver, peer, &context);
        return error != cudaSuccess ? error : to_error(driver.cuCtxDisablePeerAccess_v4000(context));
    });
}

cudaError_t cudaProfilerStart() {
    return with_context([](const DriverCalls&) { return cudaSuccess; });  // nothing to profile: kernels do nothing
}

cudaError_t cudaProfilerStop() {
    return with_context([](const DriverCalls&) { return cudaSuccess; });
}

}  // extern "C"
