// SPDX-License-Identifier: Apache-2.0
// The shim's own prototypes against NVIDIA's: every row's parameters and every struct that an effect looks into. Nothing
// here runs; that it compiles is the test. A row that the headers at hand do not declare is named below.
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <type_traits>

#include "shim/real/cuda_types.h"

extern "C" {
// cudaGL.h and cudaVDPAU.h need headers of other packages.
CUresult cuGLCtxCreate(CUcontext*, unsigned int, CUdevice);
CUresult cuGLCtxCreate_v2(CUcontext*, unsigned int, CUdevice);
CUresult cuVDPAUCtxCreate(CUcontext*, unsigned int, CUdevice, unsigned int, void*);
CUresult cuVDPAUCtxCreate_v2(CUcontext*, unsigned int, CUdevice, unsigned int, void*);
#if CUDA_VERSION < 13010
CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle, CUdevice, size_t, CUmemGenericAllocationHandle, size_t,
                               size_t, unsigned long long);
CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle, CUdevice, size_t, CUdeviceptr, size_t,
                                unsigned long long);
#endif
#if CUDA_VERSION < 13000
CUresult cuMemSetMemPool(void*, int, CUmemoryPool);
cudaError_t cudaMemSetMemPool(void*, int, cudaMemPool_t);
#endif
// Of CUDA 12 only.
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, const void*, size_t, void*);
// The per-thread twins are declared only for programs compiled that way.
#define PER_THREAD_TWIN(name) decltype(name) name##_ptsz;
PER_THREAD_TWIN(cudaMallocAsync)
PER_THREAD_TWIN(cudaMallocFromPoolAsync)
PER_THREAD_TWIN(cudaFreeAsync)
PER_THREAD_TWIN(cudaGraphInstantiateWithParams)
PER_THREAD_TWIN(cudaGraphLaunch)
PER_THREAD_TWIN(cudaStreamBeginCapture)
PER_THREAD_TWIN(cudaStreamBeginCaptureToGraph)
PER_THREAD_TWIN(cudaStreamEndCapture)
#undef PER_THREAD_TWIN
}

namespace vramtrace::shim {

// Two types that the x86-64 calling convention passes in the same way.
template <typename Ours, typename Theirs>
constexpr bool kPassedAlike = sizeof(Ours) == sizeof(Theirs) && std::is_class_v<Ours> == std::is_class_v<Theirs> &&
                              !std::is_floating_point_v<Ours> &&
                              !std::is_floating_point_v<Theirs> && std::is_trivially_copyable_v<Theirs>;

template <typename Ours, typename Theirs>
struct Compare;
template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
struct Compare<OurResult(Ours...), TheirResult(Theirs...)> {
    template <typename... T>
    struct List {};
    // Ours may pass on more words than the header at hand has parameters: an older or newer version has them.
    template <typename... Rest>
    static constexpr bool alike(List<Rest...>, List<>) {
        return ((sizeof(Rest) == 8 && !std::is_class_v<Rest>)&&...);
    }
    template <typename A, typename... As, typename B, typename... Bs>
    static constexpr bool alike(List<A, As...>, List<B, Bs...>) {
        return kPassedAlike<A, B> && alike(List<As...>(), List<Bs...>());
    }
    template <typename B, typename... Bs>
    static constexpr bool alike(List<>, List<B, Bs...>) {
        return false;
    }
    static constexpr bool same_count = sizeof...(Ours) == sizeof...(Theirs);
    static constexpr bool value = kPassedAlike<OurResult, TheirResult> && alike(List<Ours...>(), List<Theirs...>());
};

#define DRIVER(symbol, effect, parameters, arguments)                              \
    static_assert(Compare<Result parameters, decltype(::symbol)>::value, #symbol); \
    static_assert(Compare<Result parameters, decltype(::symbol)>::same_count, #symbol " has other parameters");
#include "shim/hooks/driver_functions.def"
#undef DRIVER

#define RUNTIME(symbol, bytes, parameters, arguments) \
    static_assert(Compare<Result parameters, decltype(::symbol)>::value, #symbol);
#include "shim/hooks/runtime_functions.def"
#undef RUNTIME

#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(::theirs))
#define SAME_PLACE(ours, our_member, theirs, their_member)                         \
    static_assert(offsetof(ours, our_member) == offsetof(::theirs, their_member)); \
    static_assert(sizeof(ours::our_member) == sizeof(::theirs::their_member))

SAME_SIZE(IpcHandle, CUipcMemHandle);
SAME_SIZE(IpcHandle, cudaIpcMemHandle_t);
SAME_SIZE(Extent, cudaExtent);
SAME_SIZE(Location, CUmemLocation);
SAME_SIZE(ArrayDescriptor, CUDA_ARRAY_DESCRIPTOR);
SAME_SIZE(ArrayDescriptorV1, CUDA_ARRAY_DESCRIPTOR_v1);
SAME_SIZE(Array3dDescriptor, CUDA_ARRAY3D_DESCRIPTOR);
SAME_SIZE(Array3dDescriptorV1, CUDA_ARRAY3D_DESCRIPTOR_v1);
SAME_PLACE(ArrayDescriptor, width, CUDA_ARRAY_DESCRIPTOR, Width);
SAME_PLACE(ArrayDescriptor, height, CUDA_ARRAY_DESCRIPTOR, Height);
SAME_PLACE(ArrayDescriptor, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME_PLACE(ArrayDescriptor, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME_PLACE(Array3dDescriptor, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
SAME_PLACE(Array3dDescriptor, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME_PLACE(Array3dDescriptor, channels, CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
SAME_PLACE(Array3dDescriptor, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME_PLACE(Array3dDescriptorV1, depth, CUDA_ARRAY3D_DESCRIPTOR_v1, Depth);
SAME_PLACE(Array3dDescriptorV1, flags, CUDA_ARRAY3D_DESCRIPTOR_v1, Flags);
SAME_PLACE(PoolProperties, location, CUmemPoolProps, location);
SAME_PLACE(PoolProperties, max_size, CUmemPoolProps, maxSize);
SAME_PLACE(PhysicalProperties, location, CUmemAllocationProp, location);
SAME_PLACE(MulticastProperties, size, CUmulticastObjectProp, size);
SAME_PLACE(ExternalMemoryDescriptor, size, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
SAME_PLACE(ExternalBufferDescriptor, size, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
SAME_SIZE(GraphAllocParameters, CUDA_MEM_ALLOC_NODE_PARAMS_v1);
SAME_SIZE(GraphAllocParameters, CUDA_MEM_ALLOC_NODE_PARAMS_v2);
SAME_PLACE(GraphAllocParameters, bytes, CUDA_MEM_ALLOC_NODE_PARAMS_v1, bytesize);
SAME_PLACE(GraphAllocParameters, address, CUDA_MEM_ALLOC_NODE_PARAMS_v1, dptr);
SAME_PLACE(GraphAllocParameters, address, CUDA_MEM_ALLOC_NODE_PARAMS_v2, dptr);
SAME_SIZE(GraphNodeParameters, CUgraphNodeParams);
static_assert(offsetof(GraphNodeParameters, alloc) == offsetof(CUgraphNodeParams, alloc));
static_assert(offsetof(GraphNodeParameters, free_address) ==
              offsetof(CUgraphNodeParams, free) + offsetof(CUDA_MEM_FREE_NODE_PARAMS, dptr));
static_assert(offsetof(GraphNodeParameters, child_graph) ==
              offsetof(CUgraphNodeParams, graph) + offsetof(CUDA_CHILD_GRAPH_NODE_PARAMS, graph));
SAME_PLACE(GraphInstantiateParameters, flags, CUDA_GRAPH_INSTANTIATE_PARAMS, flags);

static_assert(kSuccess == CUDA_SUCCESS && kDriverNotInitialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(kRuntimeMemoryAllocation == cudaErrorMemoryAllocation);
static_assert(kRuntimeInsufficientDriver == cudaErrorInsufficientDriver);
static_assert(kLocationDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(kNodeChildGraph == CU_GRAPH_NODE_TYPE_GRAPH && kNodeAlloc == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
static_assert(kNodeFree == CU_GRAPH_NODE_TYPE_MEM_FREE);
static_assert(kPoolReservedNow == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
static_assert(kPoolUsedNow == CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
static_assert(kFirstPoolAttribute == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES);
static_assert(kLastIntPoolAttribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES);
static_assert(kPointerDeviceOrdinal == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kCaptureActive == CU_STREAM_CAPTURE_STATUS_ACTIVE);

}  // namespace vramtrace::shim
