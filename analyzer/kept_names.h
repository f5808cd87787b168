// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analysis.h"

namespace vramtrace {

// What a walk through a trace found, for the line that `run` ends with.
struct KeptNames {
    uint64_t processes = 0, processes_running = 0;
    uint64_t events = 0, lost = 0;
    size_t addresses = 0, named = 0;
    std::vector<std::string> problems;  // modules whose names could not be read
};

// Looks up the names of every address in the trace's stacks and keeps them in its symbols.json, so that a report works
// elsewhere. What was kept before stays. With `look_up` false only counts. Throws trace::InputError if there is no
// trace, std::runtime_error if the file cannot be written.
KeptNames keep_names(const std::string& directory, const symbolize::SearchPaths& paths, bool look_up,
                     const ProgressReport& progress);

}  // namespace vramtrace
