// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "analyzer/symbolize/frame.h"
#include "analyzer/symbolize/module_files.h"
#include "analyzer/symbolize/symbol_cache.h"

namespace vramtrace::symbolize {

struct Answers {
    FramesByAddress frames;
    std::string problem;    // one sentence, empty if every address was answered as well as it can be
    bool readable = false;  // the answers are those of the module's own build
};

// Names of `addresses` in `module` (an absolute path): from the cache as far as it serves, else from the module's files, which
// are not opened if nothing is left to ask. What they say is added to the cache.
Answers answers(const ModuleKey& module, const std::set<uint64_t>& addresses, SymbolCache& cache,
                const SearchPaths& paths);

}  // namespace vramtrace::symbolize
