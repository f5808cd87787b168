// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/capture/python_layout.h"

namespace vramtrace::shim {

// Bytes per character of a Python str: 1 (latin-1), 2 or 4.
// Writes `count` characters at `from` as UTF-8; what is no character (a lone surrogate) becomes U+FFFD. Cut before the
// character that does not fit into `room`, and marked with "…" then (room ≥ 3). Returns the bytes written.
size_t text_to_utf8(const void* from, size_t count, unsigned bytes_per_character, char* to, size_t room);

// Copies the str object at `object` as UTF-8 into `to`; `scratch` is room for it as it lies there. What cannot be read, or
// is of a kind that is not known here (a subclass), becomes "?". All memory is read through safe_copy.
size_t copy_python_text(uintptr_t object, const PythonLayout& layout, char* scratch, size_t scratch_bytes, char* to,
                        size_t room);

}  // namespace vramtrace::shim
