// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/module_objects.h"

#include <algorithm>
#include <cstdio>

namespace vramtrace::simulator {
namespace {

const OnContextEnd unload_all([](Context& context) {
    std::vector<Module*> ending;
    modules().for_each([&](Module& module) {
        if (module.context == &context) {
            ending.push_back(&module);
        }
    });
    for (Module* module : ending) {
        unload_module(*module);
    }
});

LoadedGlobal place_global(Context& context, const GlobalVariable& variable) {
    LoadedGlobal global;
    global.bytes = variable.bytes;
    global.managed = variable.managed;
    if (variable.managed) {
        global.address = map_lazily(std::max<uint64_t>(variable.bytes, 1), 4096, true);
        require(global.address != 0, CUDA_ERROR_OUT_OF_MEMORY);
        add_variable(global.address, variable.bytes, &context, context.device, true);
        return global;
    }
    const auto piece = context.heap->allocate(std::max<uint64_t>(variable.bytes, 1));
    require(piece.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
    global.piece = *piece;
    global.address = piece->address;
    add_variable(global.address, variable.bytes, &context, context.device, false);
    return global;
}

void drop_global(Context& context, const LoadedGlobal& global) {
    remove_variable(global.address);
    if (global.managed) {
        unmap(global.address, std::max<uint64_t>(global.bytes, 1));
    } else {
        context.heap->free(global.piece);
    }
}

void drop_memory(Module& module) {
    for (const auto& [name, global] : module.globals) {
        drop_global(*module.context, global);
    }
    module.globals.clear();
    if (module.code.physical_bytes != 0) {
        module.context->heap->free(module.code);
        module.code = {0, 0};
    }
}

}  // namespace

ModuleTable& modules() {
    static auto* const table = new ModuleTable;
    return *table;
}

LibraryTable& libraries() {
    static auto* const table = new LibraryTable;
    return *table;
}

KernelTable& kernels() {
    static auto* const table = new KernelTable;
    return *table;
}

Kernel& kernel_of(const void* handle) {
    return kernels().get(reinterpret_cast<CUfunction>(const_cast<void*>(handle)));
}

Module& load_module(const ImageFacts& facts, Library* library) {
    Context& context = current_context().owner();
    const uint64_t fixed = Machine::get().settings.module_bytes;
    auto module = std::make_unique<Module>();
    module->context = &context;
    module->library = library;
    module->facts = facts;
    uint64_t bytes = 0;
    try {
        for (const auto& [name, variable] : facts.globals) {
            if (!variable.managed || library == nullptr) {
                module->globals[name] = place_global(context, variable);
                bytes += variable.managed ? 0 : variable.bytes;
            }
        }
        if (facts.globals.empty()) {
            bytes = fixed != 0 ? fixed : facts.bytes;
            const auto piece = context.heap->allocate(std::max<uint64_t>(bytes, 1));
            require(piece.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
            module->code = *piece;
        }
    } catch (const Refusal&) {
        drop_memory(*module);
        throw;
    }
    Book::Item item;
    item.kind = VRAMTRACE_SIM_MODULE;
    item.device = context.device->ordinal;
    item.address = reinterpret_cast<uint64_t>(module.get());
    item.local_bytes = bytes;
    item.extent_bytes = facts.bytes;
    item.context = &context;
    module->sequence = add_to_book(item);
    return modules().add(std::move(module));
}

void unload_module(Module& module) {
    drop_memory(module);
    for (const auto& [name, function] : module.functions) {
        kernels().remove(*function);
    }
    if (module.library != nullptr) {
        module.library->modules.erase(module.context);
    }
    remove_from_book(module.sequence);
    modules().remove(module);
}

Module& module_in_current_context(Library& library) {
    Module*& module = library.modules[&current_context().owner()];
    if (module == nullptr) {
        module = &load_module(library.facts, &library);
    }
    return *module;
}

LoadedGlobal& global_of(Module& module, const char* name) {
    const auto found = module.globals.find(name);
    if (found != module.globals.end()) {
        return found->second;
    }
    // An image that does not tell its variables has every name, of one size.
    require(module.facts.globals.empty(), CUDA_ERROR_NOT_FOUND);
    const GlobalVariable variable{Machine::get().settings.global_bytes, false};
    return module.globals[name] = place_global(*module.context, variable);
}

bool is_global_range(uint64_t address, uint64_t bytes) {
    const auto holds = [&](const auto& entry) {
        const LoadedGlobal& global = entry.second;
        return address >= global.address && bytes <= global.bytes && address - global.address <= global.bytes - bytes;
    };
    bool found = false;
    modules().for_each(
        [&](Module& module) { found = found || std::any_of(module.globals.begin(), module.globals.end(), holds); });
    libraries().for_each(
        [&](Library& library) { found = found || std::any_of(library.managed.begin(), library.managed.end(), holds); });
    return found;
}

Kernel& function_of(Module& module, const char* name) {
    Kernel*& function = module.functions[name];
    if (function == nullptr) {
        auto made = std::make_unique<Kernel>();
        made->name = name;
        made->module = &module;
        made->library = module.library;
        function = &kernels().add(std::move(made));
    }
    return *function;
}

std::string read_file(const char* path) {
    std::FILE* file = std::fopen(path, "rbe");
    require(file != nullptr, CUDA_ERROR_FILE_NOT_FOUND);
    std::string contents;
    char buffer[4096];
    while (const size_t got = std::fread(buffer, 1, sizeof buffer, file)) {
        contents.append(buffer, got);
    }
    std::fclose(file);
    require(!contents.empty(), CUDA_ERROR_INVALID_IMAGE);
    return contents;
}

}  // namespace vramtrace::simulator
