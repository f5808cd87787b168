// SPDX-License-Identifier: Apache-2.0
// Launches succeed and do nothing. Attributes and occupancy are answered so that programs go on.
#include <algorithm>

#include "simulator/driver/graphs.h"
#include "simulator/driver/module_objects.h"

using namespace vramtrace::simulator;

namespace {

constexpr unsigned int kMaxThreads = 1024;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kBlocksPerMultiprocessor = 32;
constexpr size_t kSharedBytes = 227 << 10;

struct Shape {
    unsigned int x, y, z;
    bool empty() const { return x == 0 || y == 0 || z == 0; }
    unsigned long long count() const { return 1ull * x * y * z; }
};

CUresult launch(CUfunction f, Shape grid, Shape block, unsigned int shared, CUstream handle, void** parameters,
                void** extra) {
    Kernel& kernel = kernel_of(f);
    require(!grid.empty() && !block.empty() && block.count() <= kMaxThreads && shared <= kSharedBytes);
    Stream& stream = stream_of(handle);
    if (kernel.module == nullptr && kernel.library != nullptr) {
        module_in_current_context(*kernel.library);  // the first launch of a library's kernel loads it
    }
    if (capturing(stream) != nullptr) {
        CUDA_KERNEL_NODE_PARAMS& node = capture_node(stream, CU_GRAPH_NODE_TYPE_KERNEL).kernel;
        node.func = f;
        node.gridDimX = grid.x;
        node.gridDimY = grid.y;
        node.gridDimZ = grid.z;
        node.blockDimX = block.x;
        node.blockDimY = block.y;
        node.blockDimZ = block.z;
        node.sharedMemBytes = shared;
        node.kernelParams = parameters;
        node.extra = extra;
        return CUDA_SUCCESS;
    }
    submit(stream);
    return CUDA_SUCCESS;
}

CUresult get_attribute(int* out, CUfunction_attribute attribute, const Kernel& kernel) {
    require(out != nullptr && attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX);
    const auto set = kernel.attributes.find(attribute);
    if (set != kernel.attributes.end()) {
        *out = set->second;
        return CUDA_SUCCESS;
    }
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *out = kMaxThreads;
            break;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *out = 32;
            break;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            *out = 90;
            break;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *out = 48 << 10;
            break;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            *out = -1;
            break;
        default:
            *out = 0;
            break;
    }
    return CUDA_SUCCESS;
}

CUresult set_attribute(Kernel& kernel, CUfunction_attribute attribute, int value) {
    require(attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX);
    kernel.attributes[attribute] = value;
    return CUDA_SUCCESS;
}

CUresult active_blocks(int* out, CUfunction function, int block, size_t shared) {
    require(out != nullptr && block > 0);
    kernel_of(function);
    const int by_shared = shared == 0 ? kBlocksPerMultiprocessor : static_cast<int>(kSharedBytes / shared);
    *out = std::min({kThreadsPerMultiprocessor / block, kBlocksPerMultiprocessor, by_shared});
    return CUDA_SUCCESS;
}

CUresult potential_block(int* grid, int* block, CUfunction function, int limit) {
    require(grid != nullptr && block != nullptr);
    kernel_of(function);
    *block = limit > 0 ? std::min(limit, static_cast<int>(kMaxThreads)) : static_cast<int>(kMaxThreads);
    *grid = 132 * (kThreadsPerMultiprocessor / *block);
    return CUDA_SUCCESS;
}

}  // namespace

SIM_STREAM_API(cuLaunchKernel, _ptsz,
               (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes,
                CUstream hStream, void** kernelParams, void** extra),
               (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams,
                extra)) {
    return launch(f, {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, hStream,
                  kernelParams, extra);
}

SIM_STREAM_API(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra),
               (config, f, kernelParams, extra)) {
    require(config != nullptr);
    return launch(f, {config->gridDimX, config->gridDimY, config->gridDimZ},
                  {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes, config->hStream,
                  kernelParams, extra);
}

SIM_STREAM_API(cuLaunchCooperativeKernel, _ptsz,
               (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes,
                CUstream hStream, void** kernelParams),
               (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
                kernelParams)) {
    return launch(f, {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, hStream,
                  kernelParams, nullptr);
}

SIM_API(cuFuncGetAttribute, (int* pi, CUfunction_attribute attrib, CUfunction hfunc), (pi, attrib, hfunc)) {
    return get_attribute(pi, attrib, kernel_of(hfunc));
}

SIM_API(cuFuncSetAttribute, (CUfunction hfunc, CUfunction_attribute attrib, int value), (hfunc, attrib, value)) {
    return set_attribute(kernel_of(hfunc), attrib, value);
}

SIM_API(cuKernelGetAttribute, (int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev),
        (pi, attrib, kernel, dev)) {
    device_of(dev);
    return get_attribute(pi, attrib, kernel_of(kernel));
}

SIM_API(cuKernelSetAttribute, (CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev),
        (attrib, val, kernel, dev)) {
    device_of(dev);
    return set_attribute(kernel_of(kernel), attrib, val);
}

SIM_API(cuKernelSetCacheConfig, (CUkernel kernel, CUfunc_cache config, CUdevice dev), (kernel, config, dev)) {
    device_of(dev);
    kernel_of(kernel);
    return CUDA_SUCCESS;
}

SIM_API(cuFuncSetCacheConfig, (CUfunction hfunc, CUfunc_cache config), (hfunc, config)) {
    kernel_of(hfunc);
    return CUDA_SUCCESS;
}

SIM_API(cuFuncSetSharedMemConfig, (CUfunction hfunc, CUsharedconfig config), (hfunc, config)) {
    kernel_of(hfunc);
    return CUDA_SUCCESS;
}

SIM_API(cuOccupancyMaxActiveBlocksPerMultiprocessor,
        (int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize),
        (numBlocks, func, blockSize, dynamicSMemSize)) {
    return active_blocks(numBlocks, func, blockSize, dynamicSMemSize);
}

SIM_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
        (int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags),
        (numBlocks, func, blockSize, dynamicSMemSize, flags)) {
    return active_blocks(numBlocks, func, blockSize, dynamicSMemSize);
}

SIM_API(cuOccupancyMaxPotentialBlockSize,
        (int* minGridSize, int* blockSize, CUfunction func, CUoccupancyB2DSize blockSizeToDynamicSMemSize,
         size_t dynamicSMemSize, int blockSizeLimit),
        (minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit)) {
    return potential_block(minGridSize, blockSize, func, blockSizeLimit);
}

SIM_API(cuOccupancyMaxPotentialBlockSizeWithFlags,
        (int* minGridSize, int* blockSize, CUfunction func, CUoccupancyB2DSize blockSizeToDynamicSMemSize,
         size_t dynamicSMemSize, int blockSizeLimit, unsigned int flags),
        (minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit, flags)) {
    return potential_block(minGridSize, blockSize, func, blockSizeLimit);
}

SIM_API(cuOccupancyAvailableDynamicSMemPerBlock,
        (size_t * dynamicSmemSize, CUfunction func, int numBlocks, int blockSize),
        (dynamicSmemSize, func, numBlocks, blockSize)) {
    require(dynamicSmemSize != nullptr && numBlocks > 0 && blockSize > 0);
    kernel_of(func);
    *dynamicSmemSize = kSharedBytes / static_cast<size_t>(numBlocks);
    return CUDA_SUCCESS;
}

SIM_API(cuOccupancyMaxPotentialClusterSize, (int* clusterSize, CUfunction func, const CUlaunchConfig* config),
        (clusterSize, func, config)) {
    require(clusterSize != nullptr && config != nullptr);
    kernel_of(func);
    *clusterSize = 8;
    return CUDA_SUCCESS;
}

SIM_API(cuOccupancyMaxActiveClusters, (int* numClusters, CUfunction func, const CUlaunchConfig* config),
        (numClusters, func, config)) {
    require(numClusters != nullptr && config != nullptr);
    kernel_of(func);
    *numClusters = 16;
    return CUDA_SUCCESS;
}

SIM_API(cuProfilerStart, (void), ()) {
    current_context();
    return CUDA_SUCCESS;
}

SIM_API(cuProfilerStop, (void), ()) {
    current_context();
    return CUDA_SUCCESS;
}
