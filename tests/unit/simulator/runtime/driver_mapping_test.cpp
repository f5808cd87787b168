// SPDX-License-Identifier: Apache-2.0
// Which driver calls a runtime call becomes.
#include "tests/support/catch.h"
#include "tests/unit/simulator/runtime/recording_driver.h"

#include <cuda_runtime_api.h>

#include <functional>

extern "C" {
cudaError_t cudaMallocAsync_ptsz(void**, size_t, cudaStream_t);
cudaError_t cudaFreeAsync_ptsz(void*, cudaStream_t);
cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaMemcpy_ptds(void*, const void*, size_t, cudaMemcpyKind);
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, CUstream_st*);
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
}

namespace {

using Names = std::vector<std::string>;

/// The driver calls that `body` causes, a context being there already.
Names calls_of(const std::function<cudaError_t()>& body) {
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    recording_driver::clear_calls();
    CHECK(body() == cudaSuccess);
    return recording_driver::calls();
}

void* some_pointer = nullptr;
char host_bytes[64];
const cudaChannelFormatDesc kFloats = {32, 0, 0, 0, cudaChannelFormatKindFloat};

}  // namespace

TEST_CASE("memory calls reach the driver functions that a real runtime reaches") {
    size_t pitch = 0;
    cudaPitchedPtr pitched = {};
    cudaArray_t array = nullptr;
    cudaMipmappedArray_t mipmap = nullptr;
    cudaMemPool_t pool = reinterpret_cast<cudaMemPool_t>(host_bytes);
    void* device = reinterpret_cast<void*>(0x1000);
    cudaMemPoolProps properties = {};
    size_t first = 0;
    size_t second = 0;

    CHECK(calls_of([&] { return cudaMalloc(&some_pointer, 100); }) == Names{"cuMemAlloc_v2"});
    CHECK(calls_of([&] { return cudaMallocPitch(&some_pointer, &pitch, 10, 10); }) == Names{"cuMemAllocPitch_v2"});
    CHECK(calls_of([&] { return cudaMalloc3D(&pitched, {4, 4, 4}); }) == Names{"cuMemAllocPitch_v2"});
    CHECK(calls_of([&] { return cudaMallocManaged(&some_pointer, 9, 1); }) == Names{"cuMemAllocManaged"});
    CHECK(calls_of([&] { return cudaFree(device); }) == Names{"cuMemFree_v2"});
    CHECK(calls_of([&] { return cudaFree(nullptr); }) == Names{"cuMemFree_v2"});
    CHECK(calls_of([&] { return cudaMallocHost(&some_pointer, 9); }) == Names{"cuMemHostAlloc"});
    CHECK(calls_of([&] { return cudaHostAlloc(&some_pointer, 9, 0); }) == Names{"cuMemHostAlloc"});
    CHECK(calls_of([&] { return cudaFreeHost(device); }) == Names{"cuMemFreeHost"});
    CHECK(calls_of([&] { return cudaHostRegister(host_bytes, 64, 0); }) == Names{"cuMemHostRegister_v2"});
    CHECK(calls_of([&] { return cudaHostUnregister(host_bytes); }) == Names{"cuMemHostUnregister"});
    CHECK(calls_of([&] { return cudaMallocArray(&array, &kFloats, 8, 8, 0); }) == Names{"cuArray3DCreate_v2"});
    CHECK(calls_of([&] { return cudaMalloc3DArray(&array, &kFloats, {2, 2, 2}, 0); }) == Names{"cuArray3DCreate_v2"});
    CHECK(calls_of([&] { return cudaFreeArray(reinterpret_cast<cudaArray_t>(device)); }) == Names{"cuArrayDestroy"});
    CHECK(calls_of([&] {
              return cudaMallocMipmappedArray(&mipmap, &kFloats, {8, 8, 0}, 2, 0);
          }) == Names{"cuMipmappedArrayCreate"});
    CHECK(calls_of([&] { return cudaMallocAsync(&some_pointer, 9, nullptr); }) == Names{"cuMemAllocAsync"});
    CHECK(calls_of([&] { return cudaMallocFromPoolAsync(&some_pointer, 9, pool, nullptr); }) ==
          Names{"cuMemAllocFromPoolAsync"});
    CHECK(calls_of([&] { return cudaFreeAsync(device, nullptr); }) == Names{"cuMemFreeAsync"});
    CHECK(calls_of([&] { return cudaMemPoolCreate(&pool, &properties); }) == Names{"cuMemPoolCreate"});
    CHECK(calls_of([&] { return cudaMemGetInfo(&first, &second); }) == Names{"cuMemGetInfo_v2"});
    CHECK(calls_of([&] { return cudaIpcOpenMemHandle(&some_pointer, cudaIpcMemHandle_t{}, 1); }) ==
          Names{"cuIpcOpenMemHandle_v2"});
}

TEST_CASE("per-thread names reach the per-thread driver functions") {
    void* device = reinterpret_cast<void*>(0x1000);
    CHECK(calls_of([&] { return cudaMallocAsync_ptsz(&some_pointer, 9, nullptr); }) == Names{"cuMemAllocAsync_ptsz"});
    CHECK(calls_of([&] { return cudaFreeAsync_ptsz(device, nullptr); }) == Names{"cuMemFreeAsync_ptsz"});
    CHECK(calls_of([&] { return cudaGraphLaunch_ptsz(nullptr, nullptr); }) == Names{"cuGraphLaunch_ptsz"});
    CHECK(calls_of([&] { return cudaMemcpy_ptds(device, host_bytes, 8, cudaMemcpyHostToDevice); }) ==
          Names{"cuMemcpyHtoD_v2_ptds"});
}

TEST_CASE("graph calls reach the driver functions that a real runtime reaches") {
    cudaGraphExec_t executable = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaMemAllocNodeParams parameters = {};
    cudaGraphNodeParams any = {};
    any.type = cudaGraphNodeTypeMemAlloc;
    CHECK(calls_of([&] { return cudaGraphInstantiate(&executable, graph, 0); }) ==
          Names{"cuGraphInstantiateWithFlags"});
    CHECK(calls_of([&] { return cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters); }) ==
          Names{"cuGraphAddMemAllocNode"});
    CHECK(calls_of([&] { return cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &any); }) ==
          Names{"cuGraphAddNode_v2"});
    CHECK(calls_of([&] { return cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal); }) ==
          Names{"cuStreamBeginCapture_v2"});
}

TEST_CASE("a reset is the older driver function, and the next call starts the device again") {
    CHECK(calls_of([] { return cudaDeviceReset(); }) == Names{"cuCtxGetApiVersion", "cuDevicePrimaryCtxReset"});
    recording_driver::clear_calls();
    CHECK(cudaMalloc(&some_pointer, 100) == cudaSuccess);
    CHECK(recording_driver::calls() ==
          Names{"cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc_v2"});
}

TEST_CASE("nothing to allocate is no driver call; wrong arguments are refused") {
    size_t pitch = 1;
    some_pointer = host_bytes;
    CHECK(calls_of([&] { return cudaMalloc(&some_pointer, 0); }).empty());
    CHECK(some_pointer == nullptr);
    CHECK(calls_of([&] { return cudaMallocPitch(&some_pointer, &pitch, 0, 4); }).empty());
    CHECK(cudaMalloc(nullptr, 4) == cudaErrorInvalidValue);
    CHECK(cudaMallocManaged(&some_pointer, 0, 1) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("driver codes come back as runtime errors and stay until asked for") {
    cudaFree(nullptr);
    cudaGetLastError();
    recording_driver::set_result("cuMemAlloc_v2", 2);
    CHECK(cudaMalloc(&some_pointer, 100) == cudaErrorMemoryAllocation);
    recording_driver::set_result("cuMemAlloc_v2", 0);
    CHECK(cudaMalloc(&some_pointer, 100) == cudaSuccess);
    CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(std::string(cudaGetErrorName(cudaErrorMemoryAllocation)) == "cudaErrorMemoryAllocation");
    CHECK(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
    CHECK(std::string(cudaGetErrorName(static_cast<cudaError_t>(12345))) == "unrecognized error code");
}

TEST_CASE("what is not simulated says so") {
    CHECK(cudaGraphDebugDotPrint(nullptr, "x", 0) == cudaErrorNotSupported);
    CHECK(cudaGetLastError() == cudaErrorNotSupported);
}

TEST_CASE("a fat binary is loaded at the first launch and unloaded with its object") {
    cudaFree(nullptr);
    recording_driver::clear_calls();
    static const char kernel_stub = 0;
    void** handle = __cudaRegisterFatBinary(host_bytes);
    __cudaRegisterFunction(handle, &kernel_stub, nullptr, "kernel", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterFatBinaryEnd(handle);
    CHECK(recording_driver::calls().empty());
    CHECK(cudaLaunchKernel(&kernel_stub, dim3(1), dim3(32), nullptr, 0, nullptr) == cudaSuccess);
    CHECK(recording_driver::calls() == Names{"cuLibraryLoadData", "cuLibraryGetKernel", "cuLaunchKernel"});
    recording_driver::clear_calls();
    CHECK(cudaLaunchKernel(&kernel_stub, dim3(1), dim3(32), nullptr, 0, nullptr) == cudaSuccess);
    CHECK(recording_driver::calls() == Names{"cuLaunchKernel"});
    CHECK(cudaLaunchKernel(&kernel_stub, dim3(1), dim3(2048), nullptr, 0, nullptr) == cudaErrorInvalidConfiguration);
    recording_driver::clear_calls();
    __cudaUnregisterFatBinary(handle);
    CHECK(recording_driver::calls() == Names{"cuLibraryUnload"});
    cudaGetLastError();
}

TEST_CASE("launch configurations nest") {
    CHECK(__cudaPushCallConfiguration(dim3(1, 2, 3), dim3(4), 5, nullptr) == 0);
    CHECK(__cudaPushCallConfiguration(dim3(7), dim3(8), 9, nullptr) == 0);
    dim3 grid;
    dim3 block;
    size_t shared = 0;
    void* stream = host_bytes;
    CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess);
    CHECK((grid.x == 7 && block.x == 8 && shared == 9 && stream == nullptr));
    CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess);
    CHECK((grid.x == 1 && grid.y == 2 && grid.z == 3 && block.x == 4 && shared == 5));
    CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaErrorMissingConfiguration);
    cudaGetLastError();
}
