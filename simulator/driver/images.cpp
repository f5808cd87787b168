// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/images.h"

#include <elf.h>

#include <cstring>
#include <initializer_list>

#include "simulator/driver/modules.h"

namespace vramtrace::simulator {
namespace {

// fatbinary_section.h and fatbinary.h of the toolkit: what the compiler registers, and what it points to.
struct FatBinaryWrapper {
    int32_t magic;
    int32_t version;
    const void* data;
    void* file;
};
constexpr int32_t kWrapperMagic = 0x466243b1;

struct FatBinaryHeader {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t bytes;
};
constexpr uint32_t kFatBinaryMagic = 0xba55ed50;

constexpr uint64_t kUnknownImageBytes = 4096;
const char kGlobalSection[] = ".nv.global";

bool starts_with(const void* image, const char* text) {
    return std::strncmp(static_cast<const char*>(image), text, std::strlen(text)) == 0;
}

// The image comes without a length, as the driver gets it: the headers are trusted as the real driver trusts them.
ImageFacts facts_of_elf(const char* image) {
    Elf64_Ehdr header{};
    std::memcpy(&header, image, sizeof header);
    ImageFacts facts;
    facts.bytes = header.e_shoff + uint64_t{header.e_shentsize} * header.e_shnum;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shstrndx >= header.e_shnum) {
        return facts;
    }
    const auto section = [&](uint64_t number) {
        Elf64_Shdr result{};
        std::memcpy(&result, image + header.e_shoff + number * sizeof result, sizeof result);
        return result;
    };
    const char* section_names = image + section(header.e_shstrndx).sh_offset;
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
        const Elf64_Shdr table = section(i);
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= header.e_shnum) {
            continue;
        }
        const char* names = image + section(table.sh_link).sh_offset;
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol{};
            std::memcpy(&symbol, image + table.sh_offset + at, sizeof symbol);
            if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx < header.e_shnum &&
                starts_with(section_names + section(symbol.st_shndx).sh_name, kGlobalSection)) {
                facts.globals[names + symbol.st_name].bytes = symbol.st_size;
            }
        }
    }
    return facts;
}

ImageFacts facts_of_plain(const void* image) {
    if (starts_with(image, ELFMAG)) {
        return facts_of_elf(static_cast<const char*>(image));
    }
    FatBinaryHeader header{};
    const auto first = *static_cast<const unsigned char*>(image);
    if (first == (kFatBinaryMagic & 0xff)) {
        std::memcpy(&header, image, sizeof header);
        if (header.magic == kFatBinaryMagic) {
            return {header.header_bytes + header.bytes, {}};
        }
    }
    const bool text = first == '/' || first == '.' || first == '\n' || first == ' ' || first == '\t';
    return {text ? std::strlen(static_cast<const char*>(image)) : kUnknownImageBytes, {}};
}

}  // namespace

std::map<std::string, GlobalVariable>& declared_globals(const void* image) {
    static auto* const table = new std::map<const void*, std::map<std::string, GlobalVariable>>;
    return (*table)[image];
}

void declare_global(const void* image, const char* name, size_t bytes, bool managed) {
    if (name != nullptr) {
        declared_globals(image)[name] = {bytes, managed};
    }
}

ImageFacts facts_of_image(const void* image) {
    FatBinaryWrapper wrapper{};
    const void* plain = image;
    const auto first = *static_cast<const unsigned char*>(image);
    if (first == (kWrapperMagic & 0xff)) {
        std::memcpy(&wrapper, image, sizeof wrapper);
        if (wrapper.magic == kWrapperMagic && wrapper.data != nullptr) {
            plain = wrapper.data;
        }
    }
    ImageFacts facts = facts_of_plain(plain);
    for (const void* named : {image, plain}) {
        for (const auto& [name, variable] : declared_globals(named)) {
            facts.globals[name] = variable;
        }
    }
    return facts;
}

}  // namespace vramtrace::simulator
