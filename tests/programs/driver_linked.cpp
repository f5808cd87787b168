// SPDX-License-Identifier: Apache-2.0
// A program with libcuda.so.1 among its needed libraries. Built with lazy binding, with immediate binding, without a
// PLT (the calls go through GLOB_DAT slots), and for the per-thread default stream.
#include "tests/programs/through_driver.h"

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
constexpr const char* kAsyncName = "cuMemAllocAsync_ptsz";
#else
constexpr const char* kAsyncName = "cuMemAllocAsync";
#endif

// Wrappers instead of addresses, so that every call is a call instruction of this program to an imported function.
namespace {
CUresult init(unsigned int flags) {
    return cuInit(flags);
}
CUresult device_get(CUdevice* device, int ordinal) {
    return cuDeviceGet(device, ordinal);
}
CUresult retain(CUcontext* context, CUdevice device) {
    return cuDevicePrimaryCtxRetain(context, device);
}
CUresult set_current(CUcontext context) {
    return cuCtxSetCurrent(context);
}
CUresult alloc(CUdeviceptr* pointer, size_t bytes) {
    return cuMemAlloc(pointer, bytes);
}
CUresult free_device(CUdeviceptr pointer) {
    return cuMemFree(pointer);
}
CUresult managed(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
    return cuMemAllocManaged(pointer, bytes, flags);
}
CUresult host(void** pointer, size_t bytes, unsigned int flags) {
    return cuMemHostAlloc(pointer, bytes, flags);
}
CUresult free_host(void* pointer) {
    return cuMemFreeHost(pointer);
}
CUresult alloc_async(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
    return cuMemAllocAsync(pointer, bytes, stream);
}
CUresult free_async(CUdeviceptr pointer, CUstream stream) {
    return cuMemFreeAsync(pointer, stream);
}
CUresult synchronize(CUstream stream) {
    return cuStreamSynchronize(stream);
}
}  // namespace

int main() {
    const DriverFunctions driver = {init,    device_get, retain,    nullptr,     set_current, alloc,      free_device,
                                    managed, host,       free_host, alloc_async, free_async,  synchronize};
    allocate_through_driver(driver, 20000, kAsyncName);
    return 0;
}
