// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/symbol_table.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace vramtrace::symbolize {

namespace {

constexpr size_t kLongestMangledName = 16384;
constexpr uint64_t kReachOfUnsizedSymbol = 4096;
constexpr unsigned kOverlapDepth = 64;

}  // namespace

SymbolTable::SymbolTable(Dwfl_Module* module) {
    const int count = dwfl_module_getsymtab(module);
    for (int i = 0; i < count; ++i) {
        GElf_Sym symbol{};
        GElf_Addr address = 0;
        GElf_Word section = 0;
        const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
        if (name == nullptr || *name == '\0' || symbol.st_shndx == SHN_UNDEF) continue;
        const unsigned type = GELF_ST_TYPE(symbol.st_info);
        const bool function = type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && symbol.st_size != 0);
        if (!function) continue;
        const unsigned binding = GELF_ST_BIND(symbol.st_info);
        const unsigned rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
        symbols_.push_back({address, symbol.st_size, rank, name});
    }
    // Among aliases at one address the last one is found first, so the best comes last.
    std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
        if (a.start != b.start) return a.start < b.start;
        if (a.rank != b.rank) return a.rank > b.rank;
        return std::strcmp(a.name, b.name) > 0;
    });
}

const char* SymbolTable::name_at(uint64_t address) const {
    auto at = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                               [](uint64_t wanted, const Symbol& symbol) { return wanted < symbol.start; });
    if (at == symbols_.begin()) return nullptr;
    const Symbol& nearest = *std::prev(at);
    if (nearest.size == 0 && at != symbols_.end() && address - nearest.start < kReachOfUnsizedSymbol)
        return nearest.name;
    // A symbol may lie inside another's range (cold parts, entry points): walk outwards, not for ever.
    for (unsigned step = 0; step < kOverlapDepth && at != symbols_.begin(); ++step) {
        --at;
        if (address - at->start < at->size) return at->name;
    }
    return nullptr;
}

std::string demangled(const char* name) {
    if (std::strncmp(name, "_Z", 2) != 0 || strnlen(name, kLongestMangledName) == kLongestMangledName) return name;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                           &std::free);
    return status == 0 && text ? std::string(text.get()) : std::string(name);
}

}  // namespace vramtrace::symbolize
