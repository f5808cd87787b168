// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "trace/process_header.h"

namespace vramtrace::trace {

// Throws InputError with the one sentence that says why these first bytes of `path` are no file of ours that we can
// read: empty, foreign, cut off, of another kind of machine, or of a newer major version.
void check_format(const std::string& path, std::span<const std::byte> front, const char (&magic)[8],
                  size_t least_header_bytes);

}  // namespace vramtrace::trace
