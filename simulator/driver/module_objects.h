// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulator/driver/allocations.h"
#include "simulator/driver/handles.h"
#include "simulator/driver/images.h"
#include "simulator/driver/modules.h"

namespace vramtrace::simulator {

struct Library;
struct Module;

// A function of a module or a kernel of a library. Every name exists: kernels do nothing.
struct Kernel {
    std::string name;
    Module* module = nullptr;
    Library* library = nullptr;
    std::map<int, int> attributes;
};

struct LoadedGlobal {
    uint64_t address = 0;
    uint64_t bytes = 0;
    PagedHeap::Piece piece{0, 0};
    bool managed = false;
};

struct Module {
    Context* context = nullptr;
    Library* library = nullptr;
    ImageFacts facts;
    PagedHeap::Piece code{0, 0};
    std::map<std::string, LoadedGlobal> globals;
    std::map<std::string, Kernel*> functions;
    uint64_t sequence = 0;
};

struct Library {
    ImageFacts facts;
    std::map<Context*, Module*> modules;
    std::map<std::string, Kernel*> kernels;
    std::map<std::string, LoadedGlobal> managed;
    uint64_t sequence = 0;
};

using ModuleTable = HandleTable<Module, CUmodule>;
using LibraryTable = HandleTable<Library, CUlibrary>;
using KernelTable = HandleTable<Kernel, CUfunction>;
ModuleTable& modules();
LibraryTable& libraries();
KernelTable& kernels();

Kernel& kernel_of(const void* handle);  // a CUfunction or a CUkernel
Module& load_module(const ImageFacts& facts, Library* library);
void unload_module(Module& module);
Module& module_in_current_context(Library& library);
LoadedGlobal& global_of(Module& module, const char* name);
Kernel& function_of(Module& module, const char* name);
std::string read_file(const char* path);

}  // namespace vramtrace::simulator
