// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramtrace::symbolize {

// One function at one address. An address inside inlined code has several, innermost first; all but the last inlined.
struct SourceFrame {
    std::string function;  // demangled; empty if only the module is known
    std::string file;
    uint32_t line = 0;  // 0 = not known
    bool inlined = false;

    bool operator==(const SourceFrame&) const = default;
};
using SourceFrames = std::vector<SourceFrame>;

// What a Module definition says, as far as names depend on it: two processes that mapped the same file share it.
struct ModuleKey {
    std::string path;
    std::string build_id;  // lower-case hexadecimal, empty if the module has none

    auto operator<=>(const ModuleKey&) const = default;
};

}  // namespace vramtrace::symbolize
