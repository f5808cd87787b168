// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace/process_header.h"

namespace vramtrace::input {

// What `vramtrace run`, the parent, knows about the end of its child: run.json in the trace directory.
struct RunRecord {
    uint32_t pid = 0;
    uint64_t start_time = 0;
    std::string boot_id;  // "" = not said
    std::optional<int> exit_code;
    std::optional<int> signal;
    uint64_t end_time = 0;  // "end_monotonic", ns; 0 if not there

    bool is_of(const trace::ProcessIdentity& process) const {
        return process.pid == pid && process.start_time == start_time &&
               (boot_id.empty() || boot_id == process.boot_id);
    }
};

// Nothing if there is no such file; nothing and a sentence in `warning` if it cannot be understood.
std::optional<RunRecord> read_run_record(const std::string& directory, std::string& warning);

}  // namespace vramtrace::input
