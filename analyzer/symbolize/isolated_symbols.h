// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/symbolize/frame.h"
#include "analyzer/symbolize/module_files.h"

namespace vramtrace::symbolize {

struct ResolvedModule {
    std::map<uint64_t, SourceFrames> frames;  // only addresses of which something is known
    std::string problem;                      // one sentence, empty if all went well
    bool readable = false;
};

// Names of `addresses` (sorted) in `module`, read by a child process: whatever a damaged ELF file does to the parser,
// crash, loop or eat memory, ends the child and is reported here as a problem. What it had found by then is kept.
// `patience_ms` is how long the child may be silent.
ResolvedModule resolve_isolated(const ModuleKey& module, const std::vector<uint64_t>& addresses,
                                const SearchPaths& paths, int patience_ms = 60000);

}  // namespace vramtrace::symbolize
