// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramtrace::cli {

// Whether the program in `path` is linked with the shared runtime of AddressSanitizer, which refuses to start behind a
// preloaded library unless it is told not to look.
bool needs_address_sanitizer(const std::string& path);

// The value of ASAN_OPTIONS that tells it so, on top of what `existing` says; empty: it says something about that itself.
std::string asan_options_value(const char* existing);

}  // namespace vramtrace::cli
