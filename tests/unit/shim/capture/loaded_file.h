// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "shim/capture/cfi_table.h"

// An ELF file laid out in memory as a loader would, but not run: its unwind table can be read.
namespace vramtrace::test {

class LoadedFile {
public:
    explicit LoadedFile(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(in)), {});
        if (bytes.size() < sizeof(Elf64_Ehdr)) return;
        const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
        if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_machine != EM_X86_64) return;
        const auto* headers = reinterpret_cast<const Elf64_Phdr*>(bytes.data() + elf->e_phoff);
        for (int i = 0; i < elf->e_phnum; ++i) {
            if (headers[i].p_type == PT_LOAD) extent_ = std::max(extent_, headers[i].p_vaddr + headers[i].p_memsz);
        }
        if (extent_ > (4UL << 30)) return;
        void* pages =
            mmap(nullptr, extent_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (pages == MAP_FAILED) return;
        base_ = reinterpret_cast<uintptr_t>(pages);
        for (int i = 0; i < elf->e_phnum; ++i) {
            if (headers[i].p_type != PT_LOAD) continue;
            memcpy(reinterpret_cast<void*>(base_ + headers[i].p_vaddr), bytes.data() + headers[i].p_offset,
                   headers[i].p_filesz);
        }
        for (int i = 0; i < elf->e_phnum; ++i) {
            if (headers[i].p_type != PT_GNU_EH_FRAME) continue;
            section_.header = base_ + headers[i].p_vaddr;
            section_.header_bytes = headers[i].p_filesz;
            for (int j = 0; j < elf->e_phnum; ++j) {
                if (headers[j].p_type != PT_LOAD || headers[j].p_vaddr > headers[i].p_vaddr) continue;
                if (headers[i].p_vaddr - headers[j].p_vaddr >= headers[j].p_filesz) continue;
                section_.start = base_ + headers[j].p_vaddr;
                section_.end = section_.start + headers[j].p_filesz;
            }
        }
    }
    ~LoadedFile() {
        if (base_ != 0) munmap(reinterpret_cast<void*>(base_), extent_);
    }
    LoadedFile(const LoadedFile&) = delete;
    LoadedFile& operator=(const LoadedFile&) = delete;

    bool good() const { return section_.header != 0; }
    uintptr_t base() const { return base_; }
    const shim::CfiSection& section() const { return section_; }

private:
    uintptr_t base_ = 0;
    size_t extent_ = 0;
    shim::CfiSection section_;
};

}  // namespace vramtrace::test
