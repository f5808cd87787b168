// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/gate/gate.h"
#include "analyzer/gate/results/results.h"

namespace vramtrace::gate {

// A place in the repository, as CI services want it: relative to its root, with '/'.
struct Location {
    std::string file;
    uint32_t line = 1;
};

// The innermost frame whose file lies in the repository; nothing if there is none.
std::optional<Location> location_of(const Offender& offender, const Context& context);
// The file's path relative to the root if it lies below it.
std::optional<std::string> path_in_repository(const std::string& file, const Context& context);

}  // namespace vramtrace::gate
