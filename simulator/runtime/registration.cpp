// SPDX-License-Identifier: Apache-2.0
// The entry points that nvcc-made objects call from their constructors. Registration itself never touches the driver:
// a program that registers kernels but runs without a driver must start.
#include "simulator/runtime/device_variables.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

#ifdef SIMULATED_CUDART_OLD_DLSYM
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#endif

namespace vramtrace::simulator::runtime {

struct FatBinary {
    void* wrapper;
    CUlibrary library = nullptr;
    bool has_variables = false;
};

namespace {

struct RegisteredVariable {
    FatBinary* binary;
    std::string name;
    size_t size;
    void** managed_place;  // where a `__managed__` variable's address is stored; null for the others
    void* stand_in;        // memory of our own when the driver cannot say where the variable lies
};

struct Registry {
    std::mutex mutex;
    std::unordered_map<FatBinary*, std::unique_ptr<FatBinary>> binaries;
    std::unordered_map<const void*, RegisteredKernel> kernels;
    std::unordered_map<const void*, RegisteredVariable> variables;
};

// Never destroyed: objects unregister from destructors that may run after ours.
Registry& registry() {
    static Registry* instance = new Registry;
    return *instance;
}

// Tells a simulated driver, which does not read compiled code, which variables the fat binary holds. A name that no
// real driver has; asked for only by programs with device variables.
void declare_variables(const FatBinary& binary) {
    using Declare = void (*)(const void* image, const char* name, size_t bytes, int managed);
    auto declare = reinterpret_cast<Declare>(dlsym(driver_access().library, "vramtrace_sim_declare_global"));
    if (declare == nullptr) return;
    for (const auto& [key, variable] : registry().variables) {
        if (variable.binary != &binary) continue;
        declare(binary.wrapper, variable.name.c_str(), variable.size, variable.managed_place != nullptr);
    }
}

CUresult load(const DriverCalls& driver, FatBinary& binary) {
    if (binary.library != nullptr) return CUDA_SUCCESS;
    if (binary.has_variables) declare_variables(binary);
    return driver.cuLibraryLoadData_v12000(&binary.library, binary.wrapper, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

// A driver that does not know the variable: ordinary host memory of the registered size stands in, which copies reach
// through unified addressing.
DeviceVariable locate(const DriverCalls& driver, RegisteredVariable& variable) {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    const CUresult result =
        variable.managed_place != nullptr
            ? driver.cuLibraryGetManaged_v12000(&address, &bytes, variable.binary->library, variable.name.c_str())
            : driver.cuLibraryGetGlobal_v12000(&address, &bytes, variable.binary->library, variable.name.c_str());
    if (result == CUDA_SUCCESS && bytes >= variable.size) return {reinterpret_cast<void*>(address), variable.size};
    if (variable.stand_in == nullptr) variable.stand_in = std::calloc(1, variable.size);
    return {variable.stand_in, variable.size};
}

FatBinary* binary_of(void** handle) {
    return reinterpret_cast<FatBinary*>(handle);
}

}  // namespace

cudaError_t find_device_variable(const DriverCalls& driver, const void* symbol, DeviceVariable* variable) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    const auto found = all.variables.find(symbol);
    if (found == all.variables.end()) return cudaErrorInvalidSymbol;
    const CUresult result = load(driver, *found->second.binary);
    if (result != CUDA_SUCCESS) return to_error(result);
    *variable = locate(driver, found->second);
    return cudaSuccess;
}

cudaError_t find_kernel(const DriverCalls& driver, const void* host_function, RegisteredKernel** kernel) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    const auto found = all.kernels.find(host_function);
    *kernel = nullptr;
    if (found == all.kernels.end()) return cudaSuccess;
    *kernel = &found->second;
    const CUresult result = load(driver, *found->second.binary);
    if (result != CUDA_SUCCESS) return to_error(result);
    if (!found->second.asked) {
        found->second.asked = true;
        CUkernel handle = nullptr;
        if (driver.cuLibraryGetKernel_v12000(&handle, found->second.binary->library, found->second.name.c_str()) ==
            CUDA_SUCCESS) {
            found->second.handle = handle;
        }
    }
    return cudaSuccess;
}

void unload_libraries(const DriverCalls& driver) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    for (auto& [key, binary] : all.binaries) {
        if (binary->library != nullptr) driver.cuLibraryUnload_v12000(binary->library);
        binary->library = nullptr;
    }
}

}  // namespace vramtrace::simulator::runtime

using namespace vramtrace::simulator::runtime;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    auto binary = std::make_unique<FatBinary>();
    binary->wrapper = wrapper;
    FatBinary* handle = binary.get();
    all.binaries.emplace(handle, std::move(binary));
    return reinterpret_cast<void**>(handle);
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
    Registry& all = registry();
    FatBinary* binary = binary_of(handle);
    std::lock_guard lock(all.mutex);
    if (all.binaries.count(binary) == 0) return;
    // Only a loaded binary proves that the driver was reached; asking for it here would start it at exit.
    if (binary->library != nullptr && driver_access().error == cudaSuccess) {
        driver_access().calls.cuLibraryUnload_v12000(binary->library);
    }
    std::erase_if(all.kernels, [&](const auto& entry) { return entry.second.binary == binary; });
    std::erase_if(all.variables, [&](const auto& entry) { return entry.second.binary == binary; });
    all.binaries.erase(binary);
}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    all.kernels[host_function] = RegisteredKernel{binary_of(handle), name, nullptr, false};
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t size, int, int) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    binary_of(handle)->has_variables = true;
    all.variables[host_variable] = RegisteredVariable{binary_of(handle), name, size, nullptr, nullptr};
}

void __cudaRegisterManagedVar(void** handle, void** place, char*, const char* name, int, size_t size, int, int) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    binary_of(handle)->has_variables = true;
    all.variables[place] = RegisteredVariable{binary_of(handle), name, size, place, nullptr};
}

void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

void __cudaRegisterUnifiedTable(void**, void*) {}

char __cudaInitModule(void** handle) {
    const cudaError_t error = with_context([&](const DriverCalls& driver) -> cudaError_t {
        Registry& all = registry();
        std::lock_guard lock(all.mutex);
        const CUresult result = load(driver, *binary_of(handle));
        if (result != CUDA_SUCCESS) return to_error(result);
        for (auto& [key, variable] : all.variables) {
            if (variable.binary != binary_of(handle) || variable.managed_place == nullptr) continue;
            *variable.managed_place = locate(driver, variable).address;
        }
        return cudaSuccess;
    });
    return error == cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
    return with_context([&](const DriverCalls& driver) {
        DeviceVariable variable = {};
        const cudaError_t error = find_device_variable(driver, symbol, &variable);
        if (error == cudaSuccess) *address = variable.address;
        return error;
    });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
    return with_context([&](const DriverCalls& driver) {
        DeviceVariable variable = {};
        const cudaError_t error = find_device_variable(driver, symbol, &variable);
        if (error == cudaSuccess) *size = variable.size;
        return error;
    });
}

}  // extern "C"
