// SPDX-License-Identifier: Apache-2.0
// Kernels: handles, attributes, occupancy. Nothing ever runs, so attributes are plausible rather than true.
#include "simulator/runtime/device_variables.h"

#include <cuda_runtime_api.h>

using namespace vramtrace::simulator::runtime;

namespace {

constexpr int kMaxThreadsPerBlock = 1024;
constexpr int kThreadsPerMultiprocessor = 2048;

struct CallConfiguration {
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    void* stream;
};

// The triple-bracket launch pushes in the caller and pops in the kernel's stub, on one thread; launches do not nest
// deeper than evaluating an argument of another launch.
constexpr int kMaxConfigurations = 16;
thread_local CallConfiguration configurations_[kMaxConfigurations];
thread_local int configuration_count_ = 0;

int blocks_for(int block_size) {
    return block_size <= 0 || block_size > kMaxThreadsPerBlock ? 0 : kThreadsPerMultiprocessor / block_size;
}

}  // namespace

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st* stream) {
    if (configuration_count_ == kMaxConfigurations) return 1;
    configurations_[configuration_count_++] = {grid, block, shared_bytes, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
    if (configuration_count_ == 0) return report(cudaErrorMissingConfiguration);
    const CallConfiguration& top = configurations_[--configuration_count_];
    *grid = top.grid;
    *block = top.block;
    *shared_bytes = top.shared_bytes;
    *static_cast<void**>(stream) = top.stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* host_function) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        RegisteredKernel* kernel = nullptr;
        const cudaError_t error = find_kernel(driver, host_function, &kernel);
        if (error != cudaSuccess) return error;
        if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
        // Kernels unknown to the driver are named by their host function; launches accept both.
        *handle = kernel->handle != nullptr ? kernel->handle
                                            : reinterpret_cast<cudaKernel_t>(const_cast<void*>(host_function));
        return cudaSuccess;
    });
}

cudaError_t cudaGetKernel(cudaKernel_t* handle, const void* host_function) {
    return __cudaGetKernel(handle, host_function);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        RegisteredKernel* kernel = nullptr;
        const cudaError_t error = find_kernel(driver, symbol, &kernel);
        if (error != cudaSuccess) return error;
        if (kernel == nullptr || kernel->handle == nullptr) return cudaErrorInvalidDeviceFunction;
        return to_error(driver.cuKernelGetFunction_v12000(function, kernel->handle));
    });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        RegisteredKernel* kernel = nullptr;
        const cudaError_t error = find_kernel(driver, function, &kernel);
        if (error != cudaSuccess) return error;
        if (name == nullptr) return cudaErrorInvalidValue;
        if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
        *name = kernel->name.c_str();
        return cudaSuccess;
    });
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attributes, const void* function) {
    return with_context([&](const DriverCalls& driver) -> cudaError_t {
        RegisteredKernel* kernel = nullptr;
        const cudaError_t error = find_kernel(driver, function, &kernel);
        if (error != cudaSuccess) return error;
        if (attributes == nullptr) return cudaErrorInvalidValue;
        if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
        *attributes = {};
        attributes->maxThreadsPerBlock = kMaxThreadsPerBlock;
        attributes->numRegs = 32;
        attributes->ptxVersion = 90;
        attributes->binaryVersion = 90;
        attributes->maxDynamicSharedSizeBytes = 48 * 1024;
        attributes->preferredShmemCarveout = -1;
        return cudaSuccess;
    });
}

cudaError_t cudaFuncSetAttribute(const void*, enum cudaFuncAttribute, int) {
    return with_context([](const DriverCalls&) { return cudaSuccess; });
}

cudaError_t cudaFuncSetCacheConfig(const void*, enum cudaFuncCache) {
    return with_context([](const DriverCalls&) { return cudaSuccess; });
}

cudaError_t cudaFuncSetSharedMemConfig(const void*, enum cudaSharedMemConfig) {
    return with_context([](const DriverCalls&) { return cudaSuccess; });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int block_size, size_t,
                                                                   unsigned int) {
    return with_context([&](const DriverCalls&) -> cudaError_t {
        if (blocks == nullptr) return cudaErrorInvalidValue;
        *blocks = blocks_for(block_size);
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                          size_t shared_bytes) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, shared_bytes, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void*, int blocks, int) {
    return with_context([&](const DriverCalls&) -> cudaError_t {
        if (bytes == nullptr || blocks <= 0) return cudaErrorInvalidValue;
        *bytes = size_t{48} * 1024 / static_cast<size_t>(blocks);
        return cudaSuccess;
    });
}

}  // extern "C"
