// SPDX-License-Identifier: Apache-2.0
// Leaks each kind of memory once, each from a function of its own name: leak_kinds [KIND…] (all by default).
// Uses only the public API, so it also builds with nvcc and runs on a real GPU. Prints for each kind
//   leak FUNCTION API BYTES     API: the driver call, BYTES: what a report must say (0: an object without counted bytes)
// Compiled by nvcc (as CUDA), two kinds more: device_malloc and device_array.
#include "tests/programs/expect.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <sys/wait.h>
#include <unistd.h>
#include <cstring>
#include <string>
#include <vector>

#define LEAKER extern "C" __attribute__((noinline)) void

namespace {

void leaked(const char* function, const char* api, size_t bytes) {
    std::printf("leak %s %s %zu\n", function, api, bytes);
    std::fflush(stdout);
}

template <typename Function>
Function driver_function(const char* name, unsigned int version, Function) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
    MUST(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &answer));
    MUST_HOLD(found != nullptr);
    return reinterpret_cast<Function>(found);
}
// The type comes from the declaration in cuda.h.
#define DRIVER(name, version) driver_function(#name, version, &::name)

CUmemAllocationProp device_memory() {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return properties;
}

size_t granularity() {
    const CUmemAllocationProp properties = device_memory();
    size_t unit = 0;
    MUST(DRIVER(cuMemGetAllocationGranularity, 10020)(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return unit;
}

}  // namespace

LEAKER leak_malloc() {
    void* pointer = nullptr;
    MUST(cudaMalloc(&pointer, 1000003));
    leaked(__func__, "cuMemAlloc_v2", 1000003);
}

LEAKER leak_malloc_managed() {
    void* pointer = nullptr;
    MUST(cudaMallocManaged(&pointer, 1000033, cudaMemAttachGlobal));
    leaked(__func__, "cuMemAllocManaged", 1000033);
}

LEAKER leak_malloc_host() {
    void* pointer = nullptr;
    MUST(cudaMallocHost(&pointer, 1000037));
    leaked(__func__, "cuMemHostAlloc", 1000037);
}

LEAKER leak_host_alloc() {
    void* pointer = nullptr;
    MUST(cudaHostAlloc(&pointer, 1000039, cudaHostAllocMapped));
    leaked(__func__, "cuMemHostAlloc", 1000039);
}

LEAKER leak_host_register() {
    void* pointer = std::malloc(1000081);
    MUST(cudaHostRegister(pointer, 1000081, cudaHostRegisterDefault));
    leaked(__func__, "cuMemHostRegister_v2", 1000081);
}

LEAKER leak_malloc_async() {
    void* pointer = nullptr;
    MUST(cudaMallocAsync(&pointer, 1000099, nullptr));
    leaked(__func__, "cuMemAllocAsync", 1000099);
}

LEAKER leak_malloc_from_pool() {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    MUST(cudaMemPoolCreate(&pool, &properties));
    void* pointer = nullptr;
    MUST(cudaMallocFromPoolAsync(&pointer, 1000117, pool, nullptr));
    leaked(__func__, "cuMemAllocFromPoolAsync", 1000117);
}

LEAKER leak_malloc_pitch() {
    void* pointer = nullptr;
    size_t pitch = 0;
    MUST(cudaMallocPitch(&pointer, &pitch, 1001, 101));
    leaked(__func__, "cuMemAllocPitch_v2", pitch * 101);
}

LEAKER leak_malloc_3d() {
    cudaPitchedPtr pitched = {};
    MUST(cudaMalloc3D(&pitched, cudaExtent{1003, 17, 7}));
    leaked(__func__, "cuMemAllocPitch_v2", pitched.pitch * 17 * 7);
}

LEAKER leak_array() {
    const cudaChannelFormatDesc channels = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t array = nullptr;
    MUST(cudaMallocArray(&array, &channels, 509, 497, 0));
    leaked(__func__, "cuArray3DCreate_v2", size_t{509} * 497 * 4);
}

LEAKER leak_array_3d() {
    const cudaChannelFormatDesc channels = {16, 16, 0, 0, cudaChannelFormatKindUnsigned};
    cudaArray_t array = nullptr;
    MUST(cudaMalloc3DArray(&array, &channels, cudaExtent{127, 63, 31}, 0));
    leaked(__func__, "cuArray3DCreate_v2", size_t{127} * 63 * 31 * 4);
}

LEAKER leak_mipmapped_array() {
    const cudaChannelFormatDesc channels = {8, 8, 8, 8, cudaChannelFormatKindUnsigned};
    cudaMipmappedArray_t mipmap = nullptr;
    MUST(cudaMallocMipmappedArray(&mipmap, &channels, cudaExtent{512, 256, 0}, 3, 0));
    const size_t elements = size_t{512} * 256 + size_t{256} * 128 + size_t{128} * 64;
    leaked(__func__, "cuMipmappedArrayCreate", elements * 4);
}

LEAKER leak_mapped_memory() {
    const CUmemAllocationProp properties = device_memory();
    const size_t bytes = 2 * granularity();
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    MUST(DRIVER(cuMemCreate, 10020)(&handle, bytes, &properties, 0));
    MUST(DRIVER(cuMemAddressReserve, 10020)(&address, bytes, 0, 0, 0));
    MUST(DRIVER(cuMemMap, 10020)(address, bytes, 0, handle, 0));
    CUmemAccessDesc access = {};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    MUST(DRIVER(cuMemSetAccess, 10020)(address, bytes, &access, 1));
    // Released but still mapped: the memory lives on.
    MUST(DRIVER(cuMemRelease, 10020)(handle));
    leaked(__func__, "cuMemCreate", bytes);
}

LEAKER leak_unmapped_handle() {
    const CUmemAllocationProp properties = device_memory();
    const size_t bytes = 3 * granularity();
    CUmemGenericAllocationHandle handle = 0;
    MUST(DRIVER(cuMemCreate, 10020)(&handle, bytes, &properties, 0));
    leaked(__func__, "cuMemCreate", bytes);
}

LEAKER leak_address_range() {
    CUdeviceptr address = 0;
    MUST(DRIVER(cuMemAddressReserve, 10020)(&address, 5 * granularity(), 0, 0, 0));
    leaked(__func__, "cuMemAddressReserve", 5 * granularity());
}

LEAKER leak_graph_memory() {
    cudaGraph_t graph = nullptr;
    MUST(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams parameters = {};
    parameters.poolProps.allocType = cudaMemAllocationTypePinned;
    parameters.poolProps.location.type = cudaMemLocationTypeDevice;
    parameters.bytesize = 1000121;
    cudaGraphNode_t node = nullptr;
    MUST(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters));
    cudaGraphExec_t executable = nullptr;
    MUST(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    MUST(cudaGraphLaunch(executable, nullptr));
    MUST(cudaStreamSynchronize(nullptr));
    leaked(__func__, "cuGraphAddMemAllocNode", 1000121);
}

LEAKER leak_stream() {
    cudaStream_t stream = nullptr;
    MUST(cudaStreamCreate(&stream));
    leaked(__func__, "cuStreamCreate", 0);
}

LEAKER leak_event() {
    cudaEvent_t event = nullptr;
    MUST(cudaEventCreate(&event));
    leaked(__func__, "cuEventCreate", 0);
}

LEAKER leak_module() {
    // 4 MiB of a global variable: device memory that no allocation call asked for.
    const char* assembly =
        ".version 6.0\n.target sm_50\n.address_size 64\n.visible .global .align 4 .b8 big_table[4194304];\n";
    CUmodule module = nullptr;
    MUST(DRIVER(cuModuleLoadData, 2000)(&module, assembly));
    leaked(__func__, "cuModuleLoadData", 4194304);
}

namespace {

// The exporting process must be forked before this one touches CUDA; it keeps its memory until this process ends.
struct Exporter {
    cudaIpcMemHandle_t handle;
    bool ready = false;
};
Exporter exporter_;

void start_exporter() {
    int to_parent[2];
    int lifeline[2];
    MUST(pipe(to_parent));
    MUST(pipe(lifeline));
    if (fork() == 0) {
        close(lifeline[1]);
        void* pointer = nullptr;
        cudaIpcMemHandle_t handle = {};
        if (cudaMalloc(&pointer, 1000151) != cudaSuccess || cudaIpcGetMemHandle(&handle, pointer) != cudaSuccess) {
            _exit(1);
        }
        char byte = 0;
        if (write(to_parent[1], &handle, sizeof handle) != static_cast<ssize_t>(sizeof handle)) _exit(1);
        (void)!read(lifeline[0], &byte, 1);  // until the parent is gone
        _exit(0);
    }
    close(to_parent[1]);
    close(lifeline[0]);
    exporter_.ready =
        read(to_parent[0], &exporter_.handle, sizeof exporter_.handle) == static_cast<ssize_t>(sizeof exporter_.handle);
}

}  // namespace

LEAKER leak_ipc_memory() {
    MUST_HOLD(exporter_.ready);
    void* pointer = nullptr;
    MUST(cudaIpcOpenMemHandle(&pointer, exporter_.handle, cudaIpcMemLazyEnablePeerAccess));
    leaked(__func__, "cuIpcOpenMemHandle_v2", 0);
}

#ifdef __CUDACC__
__device__ char device_array_[3 << 20];
__global__ void touch_array(int index) {
    device_array_[index] = 1;
}
__global__ void allocate_on_device(size_t bytes) {
    (void)malloc(bytes);
}

LEAKER leak_device_array() {
    touch_array<<<1, 1>>>(5);
    MUST(cudaDeviceSynchronize());
    leaked(__func__, "cuLibraryLoadData", 3 << 20);
}

LEAKER leak_device_malloc() {
    allocate_on_device<<<1, 1>>>(1000159);
    MUST(cudaDeviceSynchronize());
    leaked(__func__, "device-malloc", 1000159);
}
#endif

namespace {

struct Kind {
    const char* name;
    void (*leak)();
};

const Kind kKinds[] = {
    {"malloc", leak_malloc},
    {"malloc_managed", leak_malloc_managed},
    {"malloc_host", leak_malloc_host},
    {"host_alloc", leak_host_alloc},
    {"host_register", leak_host_register},
    {"malloc_async", leak_malloc_async},
    {"malloc_from_pool", leak_malloc_from_pool},
    {"malloc_pitch", leak_malloc_pitch},
    {"malloc_3d", leak_malloc_3d},
    {"array", leak_array},
    {"array_3d", leak_array_3d},
    {"mipmapped_array", leak_mipmapped_array},
    {"mapped_memory", leak_mapped_memory},
    {"unmapped_handle", leak_unmapped_handle},
    {"address_range", leak_address_range},
    {"graph_memory", leak_graph_memory},
    {"ipc_memory", leak_ipc_memory},
    {"module", leak_module},
    {"stream", leak_stream},
    {"event", leak_event},
#ifdef __CUDACC__
    {"device_array", leak_device_array},
    {"device_malloc", leak_device_malloc},
#endif
};

bool wanted(int argc, char** argv, const char* name) {
    if (argc < 2) return true;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], name) == 0) return true;
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    if (wanted(argc, argv, "ipc_memory")) start_exporter();
    for (const Kind& kind : kKinds) {
        if (wanted(argc, argv, kind.name)) kind.leak();
    }
    MUST(cudaDeviceSynchronize());
    return 0;
}
