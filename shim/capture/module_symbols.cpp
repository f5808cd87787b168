// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/module_symbols.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstring>

#include "shim/capture/safe_memory.h"

namespace vramtrace::shim {
namespace {

constexpr size_t kMaxProgramHeaders = 512;
constexpr size_t kMaxDynamicEntries = 512;
constexpr uint32_t kMaxChain = 4096;
constexpr size_t kLongestName = 64;

uint32_t gnu_hash(const char* name) {
    uint32_t hash = 5381;
    for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

template <typename T>
bool get(uintptr_t address, T& value) {
    return safe_copy(&value, address, sizeof(value));
}

}  // namespace

bool ModuleSymbols::open(uintptr_t headers, size_t count, uintptr_t bias) {
    *this = ModuleSymbols{};
    bias_ = bias;
    if (count == 0 || count > kMaxProgramHeaders) return false;
    uintptr_t dynamic = 0;
    start_ = UINTPTR_MAX;
    for (size_t i = 0; i < count; ++i) {
        Elf64_Phdr header;
        if (!get(headers + i * sizeof(header), header)) return false;
        const uintptr_t begin = bias + header.p_vaddr;
        if (header.p_type == PT_DYNAMIC) dynamic = begin;
        if (header.p_type != PT_LOAD) continue;
        if (begin < start_) start_ = begin;
        if (begin + header.p_memsz > end_) end_ = begin + header.p_memsz;
    }
    if (dynamic == 0 || start_ >= end_) return false;
    for (size_t i = 0; i < kMaxDynamicEntries; ++i) {
        Elf64_Dyn entry;
        if (!get(dynamic + i * sizeof(entry), entry)) return false;
        if (entry.d_tag == DT_NULL) break;
        // The loader rewrites some of these to absolute addresses and leaves others as they are in the file.
        if (entry.d_tag == DT_SYMTAB) symbols_ = absolute(entry.d_un.d_ptr);
        if (entry.d_tag == DT_STRTAB) strings_ = absolute(entry.d_un.d_ptr);
        if (entry.d_tag == DT_GNU_HASH) hash_ = absolute(entry.d_un.d_ptr);
    }
    uint32_t head[4];
    if (symbols_ == 0 || strings_ == 0 || hash_ == 0 || !get(hash_, head)) return false;
    buckets_ = head[0];
    first_ = head[1];
    words_ = head[2];
    shift_ = head[3];
    return buckets_ != 0 && words_ != 0 && shift_ < 32;
}

bool ModuleSymbols::open_file(uintptr_t start_of_file, uintptr_t bias) {
    Elf64_Ehdr elf;
    if (!get(start_of_file, elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(Elf64_Phdr)) return false;
    return open(start_of_file + elf.e_phoff, elf.e_phnum, bias);
}

bool ModuleSymbols::open_program() {
    const uintptr_t headers = getauxval(AT_PHDR);
    const size_t count = getauxval(AT_PHNUM);
    if (headers == 0 || count > kMaxProgramHeaders) return false;
    uintptr_t bias = 0;  // without a PT_PHDR the program is not relocatable
    for (size_t i = 0; i < count; ++i) {
        Elf64_Phdr header;
        if (!get(headers + i * sizeof(header), header)) return false;
        if (header.p_type == PT_PHDR) bias = headers - header.p_vaddr;
    }
    return open(headers, count, bias);
}

bool ModuleSymbols::is(uint32_t symbol, const char* name, size_t name_bytes, uintptr_t& address) const {
    Elf64_Sym entry;
    if (!get(symbols_ + symbol * sizeof(entry), entry) || entry.st_shndx == SHN_UNDEF) return false;
    const auto type = ELF64_ST_TYPE(entry.st_info);
    if (type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE) return false;
    char found[kLongestName];
    if (!safe_copy(found, strings_ + entry.st_name, name_bytes) || memcmp(found, name, name_bytes) != 0) return false;
    address = bias_ + entry.st_value;
    return true;
}

uintptr_t ModuleSymbols::find(const char* name) const {
    const size_t name_bytes = strlen(name) + 1;
    if (hash_ == 0 || name_bytes > kLongestName) return 0;
    const uint32_t hash = gnu_hash(name);
    const uintptr_t bloom = hash_ + 16, buckets = bloom + 8ULL * words_, chain = buckets + 4ULL * buckets_;
    uint64_t word = 0;
    if (!get(bloom + 8ULL * ((hash / 64) % words_), word)) return 0;
    const uint64_t bits = (1ULL << (hash % 64)) | (1ULL << ((hash >> shift_) % 64));
    if ((word & bits) != bits) return 0;
    uint32_t symbol = 0;
    if (!get(buckets + 4ULL * (hash % buckets_), symbol) || symbol < first_) return 0;
    for (uint32_t i = 0; i < kMaxChain; ++i, ++symbol) {
        uint32_t entry = 0;
        if (!get(chain + 4ULL * (symbol - first_), entry)) return 0;
        uintptr_t address = 0;
        if (((entry ^ hash) >> 1) == 0 && is(symbol, name, name_bytes, address)) return address;
        if ((entry & 1) != 0) return 0;
    }
    return 0;
}

}  // namespace vramtrace::shim
