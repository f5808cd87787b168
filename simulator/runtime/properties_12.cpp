// SPDX-License-Identifier: Apache-2.0
// cudaGetDeviceProperties_v2 of CUDA 12: the structure that CUDA 13 shortened, in its older layout.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

#include <cstring>

using namespace vramtrace::simulator::runtime;

namespace {

// Fields marked "only 12" left the public structure with CUDA 13.
struct DeviceProperties12 {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;  // only 12
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int deviceOverlap;  // only 12
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;  // only 12
    int integrated;
    int canMapHostMemory;
    int computeMode;  // only 12
    int maxTexture1D;
    int maxTexture1DMipmap;
    int maxTexture1DLinear;  // only 12
    int maxTexture2D[2];
    int maxTexture2DMipmap[2];
    int maxTexture2DLinear[3];
    int maxTexture2DGather[2];
    int maxTexture3D[3];
    int maxTexture3DAlt[3];
    int maxTextureCubemap;
    int maxTexture1DLayered[2];
    int maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2];
    int maxSurface1D;
    int maxSurface2D[2];
    int maxSurface3D[3];
    int maxSurface1DLayered[2];
    int maxSurface2DLayered[3];
    int maxSurfaceCubemap;
    int maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryClockRate;  // only 12
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio;  // only 12
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;  // only 12
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseCudaArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned int gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned int memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int reserved[63];
};
static_assert(sizeof(DeviceProperties12) == 1032);

}  // namespace

extern "C" cudaError_t cudaGetDeviceProperties_v2(DeviceProperties12* old, int device) {
    cudaDeviceProp now;
    const cudaError_t error = cudaGetDeviceProperties(&now, device);
    if (error != cudaSuccess) return error;
    if (old == nullptr) return report(cudaErrorInvalidValue);
    std::memset(old, 0, sizeof *old);
#define SAME(field) std::memcpy(&old->field, &now.field, sizeof old->field)
    SAME(name);
    SAME(uuid);
    SAME(luid);
    SAME(luidDeviceNodeMask);
    SAME(totalGlobalMem);
    SAME(sharedMemPerBlock);
    SAME(regsPerBlock);
    SAME(warpSize);
    SAME(memPitch);
    SAME(maxThreadsPerBlock);
    SAME(maxThreadsDim);
    SAME(maxGridSize);
    SAME(totalConstMem);
    SAME(major);
    SAME(minor);
    SAME(textureAlignment);
    SAME(texturePitchAlignment);
    SAME(multiProcessorCount);
    SAME(integrated);
    SAME(canMapHostMemory);
    SAME(maxTexture1D);
    SAME(maxTexture1DMipmap);
    SAME(maxTexture2D);
    SAME(maxTexture2DMipmap);
    SAME(maxTexture2DLinear);
    SAME(maxTexture2DGather);
    SAME(maxTexture3D);
    SAME(maxTexture3DAlt);
    SAME(maxTextureCubemap);
    SAME(maxTexture1DLayered);
    SAME(maxTexture2DLayered);
    SAME(maxTextureCubemapLayered);
    SAME(maxSurface1D);
    SAME(maxSurface2D);
    SAME(maxSurface3D);
    SAME(maxSurface1DLayered);
    SAME(maxSurface2DLayered);
    SAME(maxSurfaceCubemap);
    SAME(maxSurfaceCubemapLayered);
    SAME(surfaceAlignment);
    SAME(concurrentKernels);
    SAME(ECCEnabled);
    SAME(pciBusID);
    SAME(pciDeviceID);
    SAME(pciDomainID);
    SAME(tccDriver);
    SAME(asyncEngineCount);
    SAME(unifiedAddressing);
    SAME(memoryBusWidth);
    SAME(l2CacheSize);
    SAME(persistingL2CacheMaxSize);
    SAME(maxThreadsPerMultiProcessor);
    SAME(streamPrioritiesSupported);
    SAME(globalL1CacheSupported);
    SAME(localL1CacheSupported);
    SAME(sharedMemPerMultiprocessor);
    SAME(regsPerMultiprocessor);
    SAME(managedMemory);
    SAME(isMultiGpuBoard);
    SAME(multiGpuBoardGroupID);
    SAME(hostNativeAtomicSupported);
    SAME(pageableMemoryAccess);
    SAME(concurrentManagedAccess);
    SAME(computePreemptionSupported);
    SAME(canUseHostPointerForRegisteredMem);
    SAME(cooperativeLaunch);
    SAME(sharedMemPerBlockOptin);
    SAME(pageableMemoryAccessUsesHostPageTables);
    SAME(directManagedMemAccessFromHost);
    SAME(maxBlocksPerMultiProcessor);
    SAME(accessPolicyMaxWindowSize);
    SAME(reservedSharedMemPerBlock);
    SAME(hostRegisterSupported);
    SAME(sparseCudaArraySupported);
    SAME(hostRegisterReadOnlySupported);
    SAME(timelineSemaphoreInteropSupported);
    SAME(memoryPoolsSupported);
    SAME(gpuDirectRDMASupported);
    SAME(gpuDirectRDMAFlushWritesOptions);
    SAME(gpuDirectRDMAWritesOrdering);
    SAME(memoryPoolSupportedHandleTypes);
    SAME(deferredMappingCudaArraySupported);
    SAME(ipcEventSupported);
    SAME(clusterLaunch);
    SAME(unifiedFunctionPointers);
#undef SAME
    old->clockRate = 1980000;
    old->memoryClockRate = 2619000;
    old->deviceOverlap = 1;
    old->singleToDoublePrecisionPerfRatio = 2;
    return cudaSuccess;
}
