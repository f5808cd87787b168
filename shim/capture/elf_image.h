// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// What a loaded ELF file says about itself, read from memory.
namespace vramtrace::shim {

// Plain data: lives in zero-filled memory.
struct ElfImage {
    uintptr_t bias;             // added to the file's addresses
    uintptr_t start, end;       // of all loaded segments
    uintptr_t eh_frame_header;  // .eh_frame_hdr, 0 if there is none
    size_t eh_frame_header_bytes;
    uintptr_t eh_start, eh_end;  // the loaded segment around .eh_frame_hdr: no unwind byte lies outside it
    uintptr_t build_id;
    uint32_t build_id_bytes;
};

// `header` is where the file's first byte is mapped. False if that is no x86-64 ELF file, cannot be read or says
// impossible things. All memory is read through safe_copy.
bool read_elf_image(uintptr_t header, ElfImage& image);

}  // namespace vramtrace::shim
