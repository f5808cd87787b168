// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/symbolize/frame.h"
#include "analyzer/symbolize/module_files.h"

namespace vramtrace::symbolize {

struct ResolvedModule {
    std::map<uint64_t, SourceFrames> frames;  // only addresses of which something is known
    std::set<uint64_t> described;             // those of them that debugging information describes: none can tell more
    std::string problem;                      // one sentence, empty if all went well
    std::string debug_link;                   // the name that the file gives its separate debug file, if it does
    bool readable = false;
    bool units_missing = false;  // debugging information names files (.dwo) that are not there
};

// Names of `addresses` (sorted) in `module`, read by a child process: whatever a damaged ELF file does to the parser,
// crash, loop or eat memory, ends the child and is reported here as a problem. What it had found by then is kept.
// `patience_ms` is how long the child may be silent.
ResolvedModule resolve_isolated(const ModuleKey& module, const std::vector<uint64_t>& addresses,
                                const SearchPaths& paths, int patience_ms = 60000);

}  // namespace vramtrace::symbolize
