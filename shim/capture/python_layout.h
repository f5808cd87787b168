// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/definition.h"

// WHERE THINGS LIE in the objects of CPython, x86-64, builds with the GIL. One row a minor version; from 3.13 on the
// interpreter carries a table of its own offsets, which goes before the row. Facts from compiling offsetof() against the
// headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0 and 3.14.10.
//
//   thread state ──thread_frame──▶ [3.11, 3.12: cframe ──cframe_frame──▶] frame ──frame_previous──▶ its caller …
//                                                                            └──frame_code──▶ code object
namespace vramtrace::shim {

// How a frame says where it is.
enum class CodePosition : uint8_t {
    Bytes,    // int f_lasti, in bytes
    Units,    // int f_lasti, in instructions of two bytes
    Pointer,  // address of an instruction in the code object itself
};

struct PythonLayout {
    uint16_t version = 0;  // major << 8 | minor
    trace::LineTable form = trace::LineTable::None;
    CodePosition position = CodePosition::Bytes;
    bool every_frame_entered = false;  // each frame runs in an evaluation of its own
    uint8_t shim_owner = 255;          // frames with such an owner, or a greater one, stand for an entry from C
    uint8_t tag_bits = 0;              // low bits of frame_code that are no part of the address

    // Offsets in bytes; kNone: there is no such field.
    static constexpr uint16_t kNone = 0xffff;
    uint16_t thread_frame = kNone, cframe_frame = kNone;
    uint16_t frame_code = kNone, frame_previous = kNone, frame_position = kNone, frame_owner = kNone,
             frame_entry = kNone;
    uint16_t code_first_line = kNone, code_file = kNone, code_name = kNone, code_qualified = kNone, code_table = kNone;
    uint16_t code_bytes = kNone;                  // pointer to a bytes object, or…
    uint16_t code_start = kNone;                  // …the first instruction itself: their number is the object's size
    uint16_t code_first_traceable = kNone;        // int, in instructions: before it a frame is not complete
    uint16_t code_version = kNone;                // differs whenever an address is used again
    uint16_t text_ascii = 48, text_compact = 72;  // headers of the two kinds of str

    // Of every version known.
    static constexpr uint16_t kObjectType = 8, kObjectSize = 16, kBytesData = 32, kTextLength = 16, kTextState = 32;
};

// False: no row for this version (major << 8 | minor).
bool python_layout(uint16_t version, PythonLayout& layout);

// The interpreter's own table, 3.13 and later: takes its offsets into `layout`. `runtime` is the address of _PyRuntime,
// `hex` the interpreter's PY_VERSION_HEX. Null, or why frames cannot be read. Memory is read through safe_copy.
const char* apply_debug_offsets(uintptr_t runtime, uint32_t hex, PythonLayout& layout);

}  // namespace vramtrace::shim
