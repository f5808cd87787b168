// SPDX-License-Identifier: Apache-2.0
// The smallest image that has what a cubin of nvcc's has for a device array: an ELF file for the machine "CUDA" with one
// variable, "table", in a section .nv.global without bytes in the file.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <vector>

inline std::vector<char> cubin_with_table(size_t bytes) {
    const char section_names[] = "\0.nv.global\0.symtab\0.strtab\0.shstrtab";
    const char symbol_names[] = "\0table";
    constexpr size_t kSections = 5;
    constexpr size_t kMachineCuda = 190;
    Elf64_Sym symbols[2] = {};
    symbols[1].st_name = 1;
    symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbols[1].st_shndx = 1;
    symbols[1].st_size = bytes;

    std::vector<char> image(sizeof(Elf64_Ehdr));
    const auto append = [&image](const void* from, size_t count) {
        image.resize((image.size() + 7) / 8 * 8);
        const size_t at = image.size();
        image.insert(image.end(), static_cast<const char*>(from), static_cast<const char*>(from) + count);
        return at;
    };
    const size_t symbols_at = append(symbols, sizeof symbols);
    const size_t names_at = append(symbol_names, sizeof symbol_names);
    const size_t section_names_at = append(section_names, sizeof section_names);
    Elf64_Shdr sections[kSections] = {};
    sections[1] = {1, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, symbols_at, bytes, 0, 0, 256, 0};
    sections[2] = {12, SHT_SYMTAB, 0, 0, symbols_at, sizeof symbols, 3, 1, 8, sizeof(Elf64_Sym)};
    sections[3] = {20, SHT_STRTAB, 0, 0, names_at, sizeof symbol_names, 0, 0, 1, 0};
    sections[4] = {28, SHT_STRTAB, 0, 0, section_names_at, sizeof section_names, 0, 0, 1, 0};
    const size_t sections_at = append(sections, sizeof sections);

    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = kMachineCuda;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_shoff = sections_at;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = kSections;
    header.e_shstrndx = 4;
    std::memcpy(image.data(), &header, sizeof header);
    return image;
}
