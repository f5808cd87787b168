// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis.h"
#include "trace/event_source.h"

namespace vramtrace {

// Command, driver, devices, threads: from the Fact, Device and Thread definitions.
ProcessFacts read_facts(const trace::DefinitionView& definitions);
// Driver and runtime function names, by an event's api/label.
std::vector<std::string> read_names(const trace::DefinitionView& definitions);

// What run.json says, if it lies in `directory` and is readable.
struct RunRecord {
    uint32_t pid = 0;
    uint64_t start_time = 0;
    std::string boot_id;
    std::vector<std::string> command;
    bool running = false;
    std::optional<int> exit_code, signal;
    bool core_dumped = false;
    uint64_t ended_monotonic = 0, started_realtime = 0;
    std::optional<uint64_t> max_rss_bytes;
};
std::optional<RunRecord> read_run_record(const std::string& directory);

// How the process ended, from its trace and, if it was `vramtrace run`'s own child, from run.json.
ProcessEnd process_end(const trace::SourceStatus& status, const std::optional<RunRecord>& run);

}  // namespace vramtrace
