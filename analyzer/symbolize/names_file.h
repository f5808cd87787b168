// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analyzer/symbolize/frame.h"

// symbols.json OF A TRACE DIRECTORY: the names of the addresses seen, so that a report works where the binaries are not.
//   { "schema_version": 1,
//     "modules": [ { "path": "/usr/bin/train", "build_id": "9a0c…", "problem": "",
//                    "addresses": { "0x1234": [ {"function": "f()", "file": "/src/f.cpp", "line": 7, "inlined": true}, … ],
//                                   "0x2000": [] } } ] }
// An empty list says: looked up, nothing known.
namespace vramtrace::symbolize {

struct ModuleNames {
    std::map<uint64_t, SourceFrames> addresses;
    std::string problem;
};
using NamesByModule = std::map<ModuleKey, ModuleNames>;

constexpr unsigned kNamesSchema = 1;

// Adds the file's content to `names`. False with one sentence in `why` if it is damaged or of a newer schema, with none if it
// is not there.
bool read_names(const std::string& path, NamesByModule& names, std::string& why);
// Replaces the file at once (written beside it, then renamed). False with one sentence in `why` on failure.
bool write_names(const std::string& path, const NamesByModule& names, std::string& why);

}  // namespace vramtrace::symbolize
