// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/symbolize/frame.h"
#include "analyzer/symbolize/module_files.h"
#include "analyzer/symbolize/names_file.h"

namespace vramtrace::symbolize {

// Names of addresses, for all processes of a trace. First say what is wanted, then resolve() opens each file once.
//     symbolizer.load(directory + "/symbols.json");
//     symbolizer.want(module, address); …
//     symbolizer.resolve();
//     symbolizer.frames(module, address)
// Names kept in the trace come first: they were looked up where the job ran.
class Symbolizer {
public:
    explicit Symbolizer(SearchPaths paths = {}) : paths_(std::move(paths)) {}

    // False with one sentence if the trace keeps no (readable) names.
    bool load(const std::string& names_file, std::string& why) { return read_names(names_file, names_, why); }
    bool save(const std::string& names_file, std::string& why) const { return write_names(names_file, names_, why); }

    void want(const ModuleKey& module, uint64_t address);
    // Looks up everything wanted and not known.
    void resolve();
    // Empty if nothing is known (only module + offset can be said).
    const SourceFrames& frames(const ModuleKey& module, uint64_t address) const;

    // "train: the file was changed since …", one sentence a module that could not be read as recorded.
    std::vector<std::string> problems() const;
    size_t known_addresses() const;
    size_t named_addresses() const;

private:
    SearchPaths paths_;
    NamesByModule names_;
    std::map<ModuleKey, std::set<uint64_t>> wanted_;
};

}  // namespace vramtrace::symbolize
