// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/input/process_trace.h"
#include "trace/process_header.h"

// FROM WHAT THE USER NAMED TO THE PROCESSES IN IT. A name may be a trace directory, a STEM.trace, a STEM.ring, or
// nothing: then the newest trace of the default places is taken.
namespace vramtrace::input {

struct ProcessInput {
    trace::ProcessIdentity identity;
    ProcessFiles files;

    // Anew from the beginning each time, so that a second pass is possible. Throws InputError.
    std::unique_ptr<ProcessTrace> open() const { return std::make_unique<ProcessTrace>(files); }
};

struct Input {
    std::string path;                     // what was opened, as a user would name it
    std::vector<ProcessInput> processes;  // in the order in which recording began
    std::vector<std::string> warnings;    // files of the directory that could not be read
};

// Throws InputError with one sentence if nothing can be read there.
Input open_input(const std::optional<std::string>& path);

// The newest trace in `directory`: ./vramtrace-trace and ./vramtrace-*/ that hold one. Nothing if there is none.
std::optional<std::string> newest_trace(const std::string& directory);

}  // namespace vramtrace::input
