// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/sanitizers.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "analyzer/symbolize/module_files.h"

namespace vramtrace::cli {

namespace {

constexpr char kRuntime[] = "libasan.so";
constexpr char kOption[] = "verify_asan_link_order";
constexpr size_t kMostDynamic = 1U << 20;

template <typename T>
bool read_at(int descriptor, uint64_t offset, T* to, size_t count) {
    const auto bytes = static_cast<ssize_t>(count * sizeof(T));
    return pread(descriptor, to, count * sizeof(T), static_cast<off_t>(offset)) == bytes;
}

// Where in the file the byte at virtual address `address` lies; 0 if nowhere.
uint64_t file_offset(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
            return segment.p_offset + (address - segment.p_vaddr);
        }
    }
    return 0;
}

bool names_runtime(int descriptor) {
    Elf64_Ehdr header{};
    if (!read_at(descriptor, 0, &header, 1) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return false;
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    if (!read_at(descriptor, header.e_phoff, segments.data(), segments.size())) return false;
    const auto dynamic = std::find_if(segments.begin(), segments.end(),
                                      [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; });
    if (dynamic == segments.end() || dynamic->p_filesz > kMostDynamic) return false;
    std::vector<Elf64_Dyn> entries(dynamic->p_filesz / sizeof(Elf64_Dyn));
    if (!read_at(descriptor, dynamic->p_offset, entries.data(), entries.size())) return false;
    uint64_t strings = 0;
    for (const Elf64_Dyn& entry : entries) {
        if (entry.d_tag == DT_STRTAB) strings = file_offset(segments, entry.d_un.d_ptr);
    }
    if (strings == 0) return false;
    return std::any_of(entries.begin(), entries.end(), [&](const Elf64_Dyn& entry) {
        char name[sizeof kRuntime - 1];
        return entry.d_tag == DT_NEEDED && read_at(descriptor, strings + entry.d_un.d_val, name, sizeof name) &&
               std::memcmp(name, kRuntime, sizeof name) == 0;
    });
}

}  // namespace

bool needs_address_sanitizer(const std::string& path) {
    const int descriptor = path.empty() ? -1 : symbolize::open_regular(path);
    if (descriptor < 0) return false;
    const bool needs = names_runtime(descriptor);
    close(descriptor);
    return needs;
}

std::string asan_options_value(const char* existing) {
    std::string value = existing != nullptr ? existing : "";
    if (value.find(kOption) != std::string::npos) return {};
    if (!value.empty()) value += ':';
    return value + kOption + "=0";
}

}  // namespace vramtrace::cli
