// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "analyzer/analysis.h"
#include "analyzer/cli/commands.h"

namespace vramtrace::cli {

// There is nothing to read where it was looked for: exit code kNoTrace.
class NoTrace : public std::runtime_error {
public:
    explicit NoTrace(const std::string& sentence) : std::runtime_error(sentence) {}
};

// The path to read: `named`, or the newest trace here. Throws NoTrace with one sentence that says what to do.
std::string existing_trace(const std::optional<std::string>& named);

symbolize::SearchPaths search_paths(const SymbolOptions& options);

}  // namespace vramtrace::cli
