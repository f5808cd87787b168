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

    // The name, without folders, that the file gives its separate debug file; empty if it names none.
    const std::string& debug_link() const { return debug_link_; }

    // `address` counts as the file's program headers do. Empty if not even a function's name is known. `described`:
    // whether debugging information has the function, so that no other file of this build-id can tell more.
    SourceFrames at(uint64_t address, bool* described = nullptr);
    // Whether an address met so far lies in a unit whose split debugging information (.dwo) is not there.
    bool units_missing() const { return units_missing_; }

private:
    struct State;
    bool open_file(const std::string& path, const ModuleKey& module, std::string& why);

    std::unique_ptr<State> state_;
    bool readable_ = false;
    bool units_missing_ = false;
    std::string problem_;
    std::string debug_link_;
};

}  // namespace vramtrace::symbolize
