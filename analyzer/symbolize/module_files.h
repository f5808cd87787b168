// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/symbolize/frame.h"

// BUILD-ID → FILE: where the symbols of a module may lie on this machine.
namespace vramtrace::symbolize {

struct SearchPaths {
    std::string sysroot;  // put before every module path; empty = this machine
    std::vector<std::string> debug_directories = {"/usr/lib/debug"};
    bool debuginfod = false;  // may ask servers named in DEBUGINFOD_URLS: off, since it stalls where there is no net
    std::string cache;        // directory of the symbol cache (symbol_cache.h); empty = none
    std::function<void(const std::string&)> cache_trouble;  // told in a sentence why it did not serve; may be empty
};

// Files worth opening for `module`, best first: its own path, then DIR/.build-id/ab/cdef….debug, whose symbols and
// line tables serve as well. Existence is not checked.
std::vector<std::string> candidate_files(const ModuleKey& module, const SearchPaths& paths);

// What there is of a module here, as far as names depend on it: the sizes of its own file and of all debug files that
// libdwfl would try for it, `debug_link` (may be empty) among them. With the build-id this tells a stripped file from a
// whole one and a debug file that came later, opens nothing, and is the same for copies elsewhere. Empty: nothing is here.
std::string files_present(const ModuleKey& module, const SearchPaths& paths, const std::string& debug_link);

// The same directories as libdwfl wants them, debuglink places included.
std::string debuginfo_path(const SearchPaths& paths);

// Opens a regular file for reading: -1 for pipes, devices and anything else that could block. The reason is in errno.
int open_regular(const std::string& path);

std::string build_id_text(const void* bytes, size_t length);

}  // namespace vramtrace::symbolize
