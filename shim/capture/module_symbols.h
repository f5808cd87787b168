// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// SYMBOLS THAT A LOADED FILE DEFINES, read from its memory through safe_copy: neither the loader nor a lock of its is
// asked (modules.h says why), so that a capture may look for an interpreter wherever it happens to run.
namespace vramtrace::shim {

class ModuleSymbols {
public:
    // `headers` are `count` program headers of a file whose addresses are moved by `bias`. False: they cannot be read, or
    // the file has no GNU hash table (then it defines nothing that can be found here).
    bool open(uintptr_t headers, size_t count, uintptr_t bias);
    // `start_of_file` is where its first byte is mapped.
    bool open_file(uintptr_t start_of_file, uintptr_t bias);
    // The program itself, as the kernel started it.
    bool open_program();

    // Address of the function or object `name` (shorter than 64 bytes), 0 if it is not defined there.
    uintptr_t find(const char* name) const;

private:
    uintptr_t absolute(uintptr_t value) const { return value >= start_ && value < end_ ? value : bias_ + value; }
    bool is(uint32_t symbol, const char* name, size_t name_bytes, uintptr_t& address) const;

    uintptr_t bias_ = 0, start_ = 0, end_ = 0;
    uintptr_t symbols_ = 0, strings_ = 0, hash_ = 0;
    uint32_t buckets_ = 0, first_ = 0, words_ = 0, shift_ = 0;
};

}  // namespace vramtrace::shim
