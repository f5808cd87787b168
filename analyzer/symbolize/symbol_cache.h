// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "analyzer/symbolize/names_json.h"

// NAMES BY BUILD-ID, kept for the next trace: $XDG_CACHE_HOME/vramtrace/symbols/BUILDID.json.
//   { "schema_version": 1, "build_id": "9a0c…", "debug_link": "train.debug", "files": "module 51328 debug 90112",
//     "described": { "0x1234": [ frames as in symbols.json ] }, "other": { "0x2000": [] } }
// `described` are answers from debugging information: final, whatever lies here today. `other` are answers from symbol tables
// and "nothing known"; they hold while `files` (files_present()) says the same as when they were looked up.
namespace vramtrace::symbolize {

struct CachedModule {
    FramesByAddress described, other;
    std::string debug_link;
    std::string files;
};

// A cache is a convenience: missing, damaged, foreign or not to be written means no cache, and nobody waits. Runs at the same
// time may lose each other's additions, never more: files are replaced at once.
class SymbolCache {
public:
    struct Limits {
        uint64_t file_bytes = 8U << 20U;
        uint64_t all_bytes = 256U << 20U;  // as they lie on the disk; files not used for the longest time go
    };
    using Trouble = std::function<void(const std::string&)>;

    // `directory` is made when something is written. Empty: there is no cache.
    SymbolCache(std::string directory, Trouble trouble, Limits limits);
    SymbolCache(std::string directory, Trouble trouble)
        : SymbolCache(std::move(directory), std::move(trouble), Limits()) {}

    // Whether it can have names of this build-id at all.
    bool serves(const std::string& build_id) const;
    CachedModule read(const std::string& build_id) const;
    // Replaces what is kept of this build-id. If it is too much, addresses that are not `wanted` go first.
    void write(const std::string& build_id, CachedModule module, const std::set<uint64_t>& wanted);
    // After the last write.
    void trim() const;

private:
    std::string file_of(const std::string& build_id) const;
    bool make_directory();
    void tell(const std::string& sentence) const;

    std::string directory_;
    Trouble trouble_;
    Limits limits_;
    enum class Directory { Unknown, Good, Bad } made_ = Directory::Unknown;
};

// Where this user's cache lies: below $XDG_CACHE_HOME, else $HOME/.cache. Empty if neither is an absolute path, or if we
// are root there for somebody else (sudo): files of root would lock the owner out.
std::string symbol_cache_directory();

}  // namespace vramtrace::symbolize
