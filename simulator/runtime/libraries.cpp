// SPDX-License-Identifier: Apache-2.0
// Libraries loaded by the program itself.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

using namespace vramtrace::simulator::runtime;

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, enum cudaJitOption* jit_options,
                                void** jit_values, unsigned int jit_count, enum cudaLibraryOption* options,
                                void** values, unsigned int count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuLibraryLoadData_v12000(library, code, reinterpret_cast<CUjit_option*>(jit_options), jit_values,
                                               jit_count, reinterpret_cast<CUlibraryOption*>(options), values, count);
    });
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file, enum cudaJitOption* jit_options,
                                    void** jit_values, unsigned int jit_count, enum cudaLibraryOption* options,
                                    void** values, unsigned int count) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuLibraryLoadFromFile_v12000(library, file, reinterpret_cast<CUjit_option*>(jit_options),
                                                   jit_values, jit_count, reinterpret_cast<CUlibraryOption*>(options),
                                                   values, count);
    });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    return with_context([&](const DriverCalls& driver) { return driver.cuLibraryUnload_v12000(library); });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuLibraryGetKernel_v12000(kernel, library, name); });
}

cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuLibraryGetGlobal_v12000(device_address_out(address), bytes, library, name);
    });
}

cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
    return with_context([&](const DriverCalls& driver) {
        return driver.cuLibraryGetManaged_v12000(device_address_out(address), bytes, library, name);
    });
}

cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuLibraryGetKernelCount_v12040(count, library); });
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count, cudaLibrary_t library) {
    return with_context(
        [&](const DriverCalls& driver) { return driver.cuLibraryEnumerateKernels_v12040(kernels, count, library); });
}

}  // extern "C"
