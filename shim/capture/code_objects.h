// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/capture/intern_table.h"
#include "shim/capture/python_chain.h"
#include "shim/capture/python_layout.h"
#include "trace/definition.h"

namespace vramtrace::trace {
class DefinitionTable;
}

// FROM A CODE OBJECT TO ITS DEFINITION.
//
//   address ──▶ cache: fingerprint still the same? ──yes──▶ id
//                                └──no──▶ copy names and line table ──▶ content table: such a one known? ──▶ id
//
// Addresses are used again: of 2000 functions made by exec, 1000 and more lay where another one had been. So the address
// alone says nothing; with it go the addresses of file name, name and line table, the first line and, where there is
// one, the version. The cache is of fixed size and forgets; that costs a copy. Definitions are by content: a program that
// compiles the same text all day gets one.
namespace vramtrace::shim {

// What tells one code object from another at the same address.
struct CodeFingerprint {
    static constexpr unsigned kWords = 5;
    uint64_t words[kWords];  // code object, file name, name, line table, first line << 32 | version

    // False: cannot be read.
    template <typename Memory>
    [[gnu::always_inline]] bool read(uintptr_t code, const PythonLayout& layout, Memory& memory) {
        uint32_t line = 0, version = 0;
        words[0] = code;
        if (!memory.load(code + layout.code_file, words[1]) || !memory.load(code + layout.code_name, words[2]) ||
            !memory.load(code + layout.code_table, words[3]) || !memory.load(code + layout.code_first_line, line))
            return false;
        if (layout.code_version != PythonLayout::kNone && !memory.load(code + layout.code_version, version))
            return false;
        words[4] = static_cast<uint64_t>(line) << 32 | version;
        return true;
    }
};

// Room for the copies of one code object. Usable when zero-filled.
struct CodeScratch {
    static constexpr size_t kText = 32U << 10, kFile = 8U << 10, kName = 4U << 10, kTable = 64U << 10;
    char text[kText];  // a str as it lies there
    char file[kFile], name[kName];
    char table[kTable];
};

// Usable when zero-filled.
class CodeObjects {
public:
    // Id of the code object with this fingerprint; 0: no room for its definition.
    [[gnu::always_inline]] trace::DefinitionId id_of(const CodeFingerprint& fingerprint, const PythonLayout& layout,
                                                     trace::DefinitionTable& definitions, CodeScratch& scratch) {
        if (const trace::DefinitionId known = find(fingerprint)) [[likely]]
            return known;
        return define(fingerprint, layout, definitions, scratch);
    }

    // The cache alone; 0: not in it.
    trace::DefinitionId find(const CodeFingerprint& fingerprint) const;

private:
    // A sequence lock: odd while somebody writes. Words are stored with release and loaded with acquire, so that a reader
    // that sees one of a later writing also sees that writing's sequence.
    struct alignas(64) Entry {
        std::atomic<uint32_t> sequence;
        std::atomic<trace::DefinitionId> id;
        std::atomic<uint64_t> words[CodeFingerprint::kWords];
    };
    static constexpr unsigned kSetBits = 13, kWays = 4;

    static size_t set_of(uint64_t code) { return (code * 0x9e3779b97f4a7c15ULL) >> (64 - kSetBits); }
    [[gnu::noinline]] trace::DefinitionId define(const CodeFingerprint& fingerprint, const PythonLayout& layout,
                                                 trace::DefinitionTable& definitions, CodeScratch& scratch);
    trace::DefinitionId intern(const trace::CodeObjectBody& body, const char* file, const char* name, const char* table,
                               trace::DefinitionTable& definitions);
    void remember(const CodeFingerprint& fingerprint, trace::DefinitionId id);

    std::atomic<Entry*> cache_;  // kWays << kSetBits; release, pairs with the acquire in find()
    InternTable contents_;
};

}  // namespace vramtrace::shim
