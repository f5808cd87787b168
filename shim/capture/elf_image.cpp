// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/elf_image.h"

#include <elf.h>

#include <cstring>

#include "shim/capture/safe_memory.h"

namespace vramtrace::shim {
namespace {

constexpr uint32_t kMaxBuildId = 64;
constexpr uint16_t kMaxProgramHeaders = 512;
constexpr size_t kMaxNotes = 1U << 16;

// The program headers, one copied at a time: this may run on a signal stack of a few pages.
class ProgramHeaders {
public:
    bool open(uintptr_t header) {
        Elf64_Ehdr elf;
        if (!safe_copy(&elf, header, sizeof(elf))) return false;
        if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64) return false;
        if (elf.e_machine != EM_X86_64 || elf.e_phentsize != sizeof(Elf64_Phdr)) return false;
        first_ = header + elf.e_phoff;
        count_ = elf.e_phnum;
        return count_ > 0 && count_ <= kMaxProgramHeaders && elf.e_phoff < (1ULL << 32);
    }
    size_t count() const { return count_; }
    bool get(size_t index, Elf64_Phdr& header) const {
        return safe_copy(&header, first_ + index * sizeof(Elf64_Phdr), sizeof(header));
    }

private:
    uintptr_t first_ = 0;
    size_t count_ = 0;
};

bool find_extent(const ProgramHeaders& headers, uintptr_t start_of_file, ElfImage& image) {
    bool biased = false;
    uintptr_t lowest = UINTPTR_MAX, highest = 0;
    for (size_t i = 0; i < headers.count(); ++i) {
        Elf64_Phdr header;
        if (!headers.get(i, header)) return false;
        if (header.p_type != PT_LOAD) continue;
        const uintptr_t end = header.p_vaddr + header.p_memsz;
        if (end < header.p_vaddr) return false;
        if (header.p_offset == 0 && !biased) {
            image.bias = start_of_file - header.p_vaddr;
            biased = true;
        }
        if (header.p_vaddr < lowest) lowest = header.p_vaddr;
        if (end > highest) highest = end;
    }
    image.start = image.bias + lowest;
    image.end = image.bias + highest;
    return biased && lowest < highest && image.start < image.end;
}

// The loaded bytes of the file around [address, address + bytes): unwind tables and notes never lie in zero-filled memory.
bool find_segment(const ProgramHeaders& headers, uintptr_t bias, uintptr_t address, size_t bytes, uintptr_t& start,
                  uintptr_t& end) {
    for (size_t i = 0; i < headers.count(); ++i) {
        Elf64_Phdr header;
        if (!headers.get(i, header)) return false;
        if (header.p_type != PT_LOAD || !(header.p_flags & PF_R)) continue;
        start = bias + header.p_vaddr;
        end = start + header.p_filesz;
        if (address >= start && address < end && bytes <= end - address) return true;
    }
    return false;
}

void find_build_id(uintptr_t notes, size_t bytes, ElfImage& image) {
    if (bytes > kMaxNotes) return;
    while (bytes >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        if (!safe_copy(&note, notes, sizeof(note))) return;
        const uint64_t name_bytes = (uint64_t{note.n_namesz} + 3) & ~3ULL;
        const uint64_t whole = sizeof(note) + name_bytes + ((uint64_t{note.n_descsz} + 3) & ~3ULL);
        if (whole > bytes) return;
        char name[4];
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(name) && note.n_descsz <= kMaxBuildId &&
            safe_copy(name, notes + sizeof(note), sizeof(name)) && memcmp(name, "GNU", sizeof(name)) == 0) {
            image.build_id = notes + sizeof(note) + name_bytes;
            image.build_id_bytes = note.n_descsz;
            return;
        }
        notes += whole;
        bytes -= whole;
    }
}

}  // namespace

bool read_elf_image(uintptr_t start_of_file, ElfImage& image) {
    ProgramHeaders headers;
    if (!headers.open(start_of_file) || !find_extent(headers, start_of_file, image)) return false;
    for (size_t i = 0; i < headers.count(); ++i) {
        Elf64_Phdr header;
        if (!headers.get(i, header)) return false;
        if (header.p_type != PT_GNU_EH_FRAME && header.p_type != PT_NOTE) continue;
        const uintptr_t address = image.bias + header.p_vaddr;
        uintptr_t start = 0, end = 0;
        if (!find_segment(headers, image.bias, address, header.p_filesz, start, end)) continue;
        if (header.p_type == PT_NOTE) {
            if (image.build_id_bytes == 0) find_build_id(address, header.p_filesz, image);
        } else if (raw::readable(start) && raw::readable(end - 8)) {
            image.eh_frame_header = address;
            image.eh_frame_header_bytes = header.p_filesz;
            image.eh_start = start;
            image.eh_end = end;
        }
    }
    return true;
}

}  // namespace vramtrace::shim
