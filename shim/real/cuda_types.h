// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// CUDA's types as its binary interface has them, in our own words: the CUDA headers rename functions by macros
// ("cuMemAlloc" means cuMemAlloc_v2 there), so the shim never includes them. tests/drift/abi_against_headers.cpp compares
// every size and offset here, and every row of the hook tables, with the real headers.
namespace vramtrace::shim {

using Result = int;  // CUresult and cudaError_t
constexpr Result kSuccess = 0;
constexpr Result kDriverNotInitialized = 3;     // CUDA_ERROR_NOT_INITIALIZED
constexpr Result kRuntimeMemoryAllocation = 2;  // cudaErrorMemoryAllocation
constexpr Result kRuntimeInsufficientDriver = 35;

using Handle = void*;  // CUcontext, CUstream, CUarray, CUmemoryPool, cudaArray_t, …
using Ordinal = int;   // CUdevice
using DevicePointer = unsigned long long;
using DevicePointerV1 = unsigned int;     // before CUDA 3.2
using MemoryHandle = unsigned long long;  // CUmemGenericAllocationHandle
using Flags = unsigned int;
using LongFlags = unsigned long long;
using Enum = int;

struct IpcHandle {  // CUipcMemHandle, cudaIpcMemHandle_t: passed by value, on the stack
    char bytes[64];
};
struct Extent {  // cudaExtent: passed by value, on the stack
    size_t width, height, depth;
};
struct Location {  // CUmemLocation
    Enum type;
    int id;
};
constexpr Enum kLocationDevice = 1;

struct ArrayDescriptorV1 {
    unsigned width, height;
    unsigned format, channels;
};
struct ArrayDescriptor {
    size_t width, height;
    unsigned format, channels;
};
struct Array3dDescriptorV1 {
    unsigned width, height, depth;
    unsigned format, channels;
    unsigned flags;
};
struct Array3dDescriptor {
    size_t width, height, depth;
    unsigned format, channels;
    unsigned flags;
};

struct PoolProperties {  // CUmemPoolProps, its beginning
    Enum allocation_type;
    Enum handle_types;
    Location location;
    void* security_attributes;
    size_t max_size;
};
struct PhysicalProperties {  // CUmemAllocationProp, its beginning
    Enum type;
    Enum handle_types;
    Location location;
};
struct MulticastProperties {  // CUmulticastObjectProp, its beginning
    unsigned devices;
    size_t size;
};
struct ExternalMemoryDescriptor {  // CUDA_EXTERNAL_MEMORY_HANDLE_DESC, its beginning
    Enum type;
    uint64_t handle[2];
    unsigned long long size;
};
struct ExternalBufferDescriptor {  // CUDA_EXTERNAL_MEMORY_BUFFER_DESC, its beginning
    unsigned long long offset, size;
};
struct GraphAllocParameters {  // CUDA_MEM_ALLOC_NODE_PARAMS, v1 and v2
    uint64_t pool_properties[11];
    const void* access;
    size_t access_count;
    size_t bytes;
    DevicePointer address;  // written by the driver
};
struct GraphNodeParameters {  // CUgraphNodeParams
    Enum type;
    int reserved0[3];
    union {
        GraphAllocParameters alloc;
        DevicePointer free_address;
        Handle child_graph;
        uint64_t reserved[29];
    };
    uint64_t reserved2;
};
constexpr Enum kNodeChildGraph = 4, kNodeAlloc = 10, kNodeFree = 11;
struct GraphInstantiateParameters {  // CUDA_GRAPH_INSTANTIATE_PARAMS, its beginning
    uint64_t flags;
};

constexpr Enum kPoolReservedNow = 5, kPoolUsedNow = 7;              // CU_MEMPOOL_ATTR_{RESERVED,USED}_MEM_CURRENT
constexpr Enum kFirstPoolAttribute = 1, kLastIntPoolAttribute = 3;  // the reuse switches are ints, all others uint64_t
constexpr Enum kPointerDeviceOrdinal = 9;                           // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
constexpr Enum kCaptureActive = 1;                                  // CU_STREAM_CAPTURE_STATUS_ACTIVE
constexpr uintptr_t kLegacyStream = 1, kPerThreadStream = 2;        // CU_STREAM_LEGACY, CU_STREAM_PER_THREAD

}  // namespace vramtrace::shim
