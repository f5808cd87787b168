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

// What run.json says of its job beyond how it ended, which the input knows already.
struct RunDetails {
    uint32_t pid = 0;
    uint64_t start_time = 0;
    bool core_dumped = false;
    std::optional<uint64_t> max_rss_bytes;
    std::vector<DetailVariable> framework_detail;
};
std::optional<RunDetails> read_run_details(const std::string& directory);

// How the process ended, with what `vramtrace run` knows more if it was its own child.
ProcessEnd process_end(const trace::SourceStatus& status, const std::optional<RunDetails>& run);

}  // namespace vramtrace
