// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string>
#include <vector>

namespace vramtrace::symbolize {

// The functions of .symtab (of the module or its debug file) or .dynsym, sorted by address: libdwfl's own look-up walks
// the whole table each time. Addresses are libdwfl's, bias included. Names point into the ELF data of the module.
class SymbolTable {
public:
    explicit SymbolTable(Dwfl_Module* module);

    // The mangled name of the function that holds `address`, nullptr if none does: a stripped library answers nothing
    // rather than the name of the nearest export.
    const char* name_at(uint64_t address) const;

private:
    struct Symbol {
        uint64_t start;
        uint64_t size;
        unsigned rank;  // lower is better among aliases
        const char* name;
    };
    std::vector<Symbol> symbols_;
};

std::string demangled(const char* name);

}  // namespace vramtrace::symbolize
