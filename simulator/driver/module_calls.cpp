// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "simulator/driver/module_objects.h"

using namespace vramtrace::simulator;

namespace {

CUmodule load(const void* image) {
    require(image != nullptr);
    return ModuleTable::handle_of(load_module(facts_of_image(image), nullptr));
}

CUlibrary add_library(const ImageFacts& facts) {
    auto library = std::make_unique<Library>();
    library->facts = facts;
    Book::Item item;
    item.kind = VRAMTRACE_SIM_LIBRARY;
    item.address = reinterpret_cast<uint64_t>(library.get());
    item.extent_bytes = facts.bytes;
    library->sequence = add_to_book(item);
    return LibraryTable::handle_of(libraries().add(std::move(library)));
}

template <class Map, class Handle>
void enumerate(const Map& map, Handle* out, unsigned int count) {
    require(out != nullptr || count == 0);
    unsigned int i = 0;
    for (const auto& [name, kernel] : map) {
        if (i == count) {
            break;
        }
        out[i++] = reinterpret_cast<Handle>(kernel);
    }
}

void answer(const LoadedGlobal& global, CUdeviceptr* dptr, size_t* bytes) {
    if (dptr != nullptr) {
        *dptr = to_pointer(global.address);
    }
    if (bytes != nullptr) {
        *bytes = global.bytes;
    }
}

}  // namespace

SIM_API(cuModuleLoad, (CUmodule * module, const char* fname), (module, fname)) {
    require(module != nullptr && fname != nullptr);
    current_context();
    *module = load(read_file(fname).c_str());
    return CUDA_SUCCESS;
}

SIM_API(cuModuleLoadData, (CUmodule * module, const void* image), (module, image)) {
    require(module != nullptr);
    *module = load(image);
    return CUDA_SUCCESS;
}

SIM_API(cuModuleLoadDataEx,
        (CUmodule * module, const void* image, unsigned int numOptions, CUjit_option* options, void** optionValues),
        (module, image, numOptions, options, optionValues)) {
    require(module != nullptr);
    *module = load(image);
    return CUDA_SUCCESS;
}

SIM_API(cuModuleLoadFatBinary, (CUmodule * module, const void* fatCubin), (module, fatCubin)) {
    require(module != nullptr);
    *module = load(fatCubin);
    return CUDA_SUCCESS;
}

SIM_API(cuModuleUnload, (CUmodule hmod), (hmod)) {
    Module& module = modules().get(hmod);
    require(module.library == nullptr, CUDA_ERROR_NOT_PERMITTED);
    unload_module(module);
    return CUDA_SUCCESS;
}

SIM_API_ALWAYS(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode), (mode)) {
    require(mode != nullptr);
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

SIM_API(cuModuleGetFunction, (CUfunction * hfunc, CUmodule hmod, const char* name), (hfunc, hmod, name)) {
    require(hfunc != nullptr && name != nullptr);
    *hfunc = KernelTable::handle_of(function_of(modules().get(hmod), name));
    return CUDA_SUCCESS;
}

SIM_API(cuModuleGetFunctionCount, (unsigned int* count, CUmodule mod), (count, mod)) {
    require(count != nullptr);
    *count = static_cast<unsigned int>(modules().get(mod).functions.size());
    return CUDA_SUCCESS;
}

SIM_API(cuModuleEnumerateFunctions, (CUfunction * functions, unsigned int numFunctions, CUmodule mod),
        (functions, numFunctions, mod)) {
    enumerate(modules().get(mod).functions, functions, numFunctions);
    return CUDA_SUCCESS;
}

SIM_API(cuModuleGetGlobal_v2, (CUdeviceptr * dptr, size_t* bytes, CUmodule hmod, const char* name),
        (dptr, bytes, hmod, name)) {
    require(name != nullptr);
    answer(global_of(modules().get(hmod), name), dptr, bytes);
    return CUDA_SUCCESS;
}

SIM_API(cuLibraryLoadData,
        (CUlibrary * library, const void* code, CUjit_option* jitOptions, void** jitOptionsValues,
         unsigned int numJitOptions, CUlibraryOption* libraryOptions, void** libraryOptionValues,
         unsigned int numLibraryOptions),
        (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
         numLibraryOptions)) {
    require(library != nullptr && code != nullptr);
    *library = add_library(facts_of_image(code));
    return CUDA_SUCCESS;
}

SIM_API(cuLibraryLoadFromFile,
        (CUlibrary * library, const char* fileName, CUjit_option* jitOptions, void** jitOptionsValues,
         unsigned int numJitOptions, CUlibraryOption* libraryOptions, void** libraryOptionValues,
         unsigned int numLibraryOptions),
        (library, fileName, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
         numLibraryOptions)) {
    require(library != nullptr && fileName != nullptr);
    *library = add_library(facts_of_image(read_file(fileName).c_str()));
    return CUDA_SUCCESS;
}

SIM_API(cuLibraryUnload, (CUlibrary library), (library)) {
    Library& found = libraries().get(library);
    while (!found.modules.empty()) {
        unload_module(*found.modules.begin()->second);
    }
    for (const auto& [name, kernel] : found.kernels) {
        kernels().remove(*kernel);
    }
    for (const auto& [name, global] : found.managed) {
        remove_variable(global.address);
        unmap(global.address, std::max<uint64_t>(global.bytes, 1));
    }
    remove_from_book(found.sequence);
    libraries().remove(found);
    return CUDA_SUCCESS;
}

SIM_API(cuLibraryGetKernel, (CUkernel * pKernel, CUlibrary library, const char* name), (pKernel, library, name)) {
    require(pKernel != nullptr && name != nullptr);
    Library& found = libraries().get(library);
    Kernel*& kernel = found.kernels[name];
    if (kernel == nullptr) {
        auto made = std::make_unique<Kernel>();
        made->name = name;
        made->library = &found;
        kernel = &kernels().add(std::move(made));
    }
    *pKernel = reinterpret_cast<CUkernel>(kernel);
    return CUDA_SUCCESS;
}

SIM_API(cuLibraryGetKernelCount, (unsigned int* count, CUlibrary lib), (count, lib)) {
    require(count != nullptr);
    *count = static_cast<unsigned int>(libraries().get(lib).kernels.size());
    return CUDA_SUCCESS;
}

SIM_API(cuLibraryEnumerateKernels, (CUkernel * list, unsigned int numKernels, CUlibrary lib), (list, numKernels, lib)) {
    enumerate(libraries().get(lib).kernels, list, numKernels);
    return CUDA_SUCCESS;
}

SIM_API(cuLibraryGetModule, (CUmodule * pMod, CUlibrary library), (pMod, library)) {
    require(pMod != nullptr);
    *pMod = ModuleTable::handle_of(module_in_current_context(libraries().get(library)));
    return CUDA_SUCCESS;
}

SIM_API(cuLibraryGetGlobal, (CUdeviceptr * dptr, size_t* bytes, CUlibrary library, const char* name),
        (dptr, bytes, library, name)) {
    require(name != nullptr);
    answer(global_of(module_in_current_context(libraries().get(library)), name), dptr, bytes);
    return CUDA_SUCCESS;
}

SIM_API(cuLibraryGetManaged, (CUdeviceptr * dptr, size_t* bytes, CUlibrary library, const char* name),
        (dptr, bytes, library, name)) {
    require(name != nullptr);
    Library& found = libraries().get(library);
    Context& context = current_context().owner();
    auto global = found.managed.find(name);
    if (global == found.managed.end()) {
        const auto known = found.facts.globals.find(name);
        require(found.facts.globals.empty() || (known != found.facts.globals.end() && known->second.managed),
                CUDA_ERROR_NOT_FOUND);
        LoadedGlobal made;
        made.managed = true;
        made.bytes = known != found.facts.globals.end() ? known->second.bytes : Machine::get().settings.global_bytes;
        made.address = map_lazily(std::max<uint64_t>(made.bytes, 1), 4096, true);
        require(made.address != 0, CUDA_ERROR_OUT_OF_MEMORY);
        add_variable(made.address, made.bytes, nullptr, context.device, true);
        global = found.managed.emplace(name, made).first;
    }
    answer(global->second, dptr, bytes);
    return CUDA_SUCCESS;
}

SIM_API(cuKernelGetFunction, (CUfunction * pFunc, CUkernel kernel), (pFunc, kernel)) {
    require(pFunc != nullptr);
    Kernel& found = kernel_of(kernel);
    require(found.library != nullptr, CUDA_ERROR_INVALID_HANDLE);
    *pFunc = KernelTable::handle_of(function_of(module_in_current_context(*found.library), found.name.c_str()));
    return CUDA_SUCCESS;
}

SIM_API(cuKernelGetLibrary, (CUlibrary * pLib, CUkernel kernel), (pLib, kernel)) {
    require(pLib != nullptr);
    *pLib = LibraryTable::handle_of(*kernel_of(kernel).library);
    return CUDA_SUCCESS;
}

SIM_API(cuKernelGetName, (const char** name, CUkernel hfunc), (name, hfunc)) {
    require(name != nullptr);
    *name = kernel_of(hfunc).name.c_str();
    return CUDA_SUCCESS;
}

SIM_API(cuFuncGetName, (const char** name, CUfunction hfunc), (name, hfunc)) {
    require(name != nullptr);
    *name = kernel_of(hfunc).name.c_str();
    return CUDA_SUCCESS;
}

SIM_API(cuFuncGetModule, (CUmodule * hmod, CUfunction hfunc), (hmod, hfunc)) {
    require(hmod != nullptr);
    Kernel& kernel = kernel_of(hfunc);
    *hmod =
        ModuleTable::handle_of(kernel.module != nullptr ? *kernel.module : module_in_current_context(*kernel.library));
    return CUDA_SUCCESS;
}

SIM_API(cuFuncIsLoaded, (CUfunctionLoadingState * state, CUfunction function), (state, function)) {
    require(state != nullptr);
    kernel_of(function);
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

SIM_API(cuFuncLoad, (CUfunction function), (function)) {
    kernel_of(function);
    return CUDA_SUCCESS;
}
