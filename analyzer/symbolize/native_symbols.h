// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "analyzer/symbolize/frame.h"
#include "analyzer/symbolize/module_files.h"

namespace vramtrace::symbolize {

// Names and lines of one ELF file, read by libdw and by nothing else. A damaged file may still crash a library that
// parses it, so the program asks through resolve_isolated() (isolated_symbols.h); this class is what runs in there.
class NativeSymbols {
public:
    NativeSymbols(const ModuleKey& module, const SearchPaths& paths);
    ~NativeSymbols();
    NativeSymbols(const NativeSymbols&) = delete;
    NativeSymbols& operator=(const NativeSymbols&) = delete;

    bool readable() const { return readable_; }
    // One sentence on what is wrong or was left out (file missing, build-id differs, …), empty if nothing is.
    const std::string& problem() const { return problem_; }

    // `address` counts as the file's program headers do. Empty if not even a function's name is known.
    SourceFrames at(uint64_t address);

private:
    struct State;
    bool open_file(const std::string& path, const ModuleKey& module, std::string& why);

    std::unique_ptr<State> state_;
    bool readable_ = false;
    std::string problem_;
};

}  // namespace vramtrace::symbolize
