// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/capture/cfi_program.h"

// CALL FRAME INFORMATION: from an instruction pointer to the rules that undo its frame.
//
//   .eh_frame_hdr (sorted table) ──binary search──▶ FDE ──▶ CIE; both programs run up to the instruction ──▶ rules
//
// Format: LSB Core "Exception Frames" and DWARF 5, section 6.4. Every read is checked against the bounds given; what is
// outside them or makes no sense gives "no rules".
namespace vramtrace::shim {

// Where the unwind table of a module lies in memory.
struct CfiSection {
    uintptr_t header = 0;  // .eh_frame_hdr
    size_t header_bytes = 0;
    uintptr_t start = 0, end = 0;  // nothing outside is read
};

// False: no rules for `pc`.
bool find_frame_rules(const CfiSection& section, uintptr_t pc, FrameRules& rules);

}  // namespace vramtrace::shim
