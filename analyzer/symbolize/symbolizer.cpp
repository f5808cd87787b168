// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/symbolizer.h"

#include "analyzer/symbolize/cached_answers.h"

namespace vramtrace::symbolize {

void Symbolizer::want(const ModuleKey& module, uint64_t address) {
    if (const auto known = names_.find(module); known != names_.end()) {
        const auto at = known->second.addresses.find(address);
        if (at != known->second.addresses.end() && !at->second.empty()) return;
    }
    wanted_[module].insert(address);
}

void Symbolizer::resolve() {
    SymbolCache cache(paths_.cache, paths_.cache_trouble);
    for (const auto& [key, addresses] : wanted_) {
        ModuleNames& module = names_[key];
        Answers found;
        if (!key.path.empty() && key.path[0] == '/') found = answers(key, addresses, cache, paths_);
        // A problem met here matters only as far as the trace itself could not answer: its own word was given where
        // the job ran, and stands.
        const bool answered_before = !module.addresses.empty() && module.problem.empty();
        if (found.readable || !answered_before) module.problem = found.problem;
        for (const uint64_t address : addresses) {
            const auto at = found.frames.find(address);
            if (at != found.frames.end() && !at->second.empty()) {
                module.addresses[address] = std::move(at->second);
            } else {
                module.addresses.try_emplace(address);
            }
        }
    }
    wanted_.clear();
    cache.trim();
}

const SourceFrames& Symbolizer::frames(const ModuleKey& module, uint64_t address) const {
    static const SourceFrames kNothing;
    const auto known = names_.find(module);
    if (known == names_.end()) return kNothing;
    const auto at = known->second.addresses.find(address);
    return at != known->second.addresses.end() ? at->second : kNothing;
}

std::vector<std::string> Symbolizer::problems() const {
    std::vector<std::string> lines;
    for (const auto& [key, module] : names_) {
        if (!module.problem.empty()) lines.push_back(key.path + ": " + module.problem);
    }
    return lines;
}

size_t Symbolizer::known_addresses() const {
    size_t count = 0;
    for (const auto& [key, module] : names_) count += module.addresses.size();
    return count;
}

size_t Symbolizer::named_addresses() const {
    size_t count = 0;
    for (const auto& [key, module] : names_) {
        for (const auto& [address, frames] : module.addresses) count += frames.empty() ? 0 : 1;
    }
    return count;
}

}  // namespace vramtrace::symbolize
