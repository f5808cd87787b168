// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "analyzer/analysis.h"

// ARENAS NOBODY CAN LOOK INTO: a framework that takes great pieces from the driver and hands out parts of them by itself,
// through no function that could be seen. What is live inside, and whose it is, cannot be judged; only that it was taken.
namespace vramtrace {

struct OpaqueArena {
    std::string framework;  // "JAX"; empty: the site makes no such arena
    std::string remedy;     // what would show the inside

    bool is_one() const { return !framework.empty(); }
    std::string sentence() const;  // "opaque arena of JAX: cannot judge inside; …"
};

// What is known of one call site's allocations, from the library that called the driver there (names must be there, see
// ProcessAnalysis::stacks).
OpaqueArena opaque_arena(const ProcessAnalysis& process, const accounts::Site& site);

}  // namespace vramtrace
