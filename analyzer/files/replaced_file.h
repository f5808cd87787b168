// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramtrace {

// Replaces the file at once: written beside it under a name nobody else has (…-XXXXXX.new, mode 0600), then renamed. Whoever
// reads meanwhile has the old text or the new one. False with one sentence in `why` on failure; nothing is left behind then.
bool replace_file(const std::string& path, const std::string& text, std::string& why);

}  // namespace vramtrace
