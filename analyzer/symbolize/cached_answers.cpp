// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/cached_answers.h"

#include <algorithm>
#include <tuple>

#include "analyzer/symbolize/isolated_symbols.h"

namespace vramtrace::symbolize {

namespace {

// Both are of one build-id, so neither is wrong; one may say more.
bool says_more(const SourceFrames& one, const SourceFrames& other) {
    const auto rank = [](const SourceFrames& frames) {
        const bool line = std::any_of(frames.begin(), frames.end(), [](const SourceFrame& f) { return f.line != 0; });
        return std::tuple(!frames.empty(), line, frames.size());
    };
    return rank(one) > rank(other);
}

// What the cache answers whatever the files say; the rest is left in `open`.
Answers from_cache(const CachedModule& cached, bool files_unchanged, std::set<uint64_t>& open) {
    Answers answers;
    for (auto it = open.begin(); it != open.end();) {
        auto at = cached.described.find(*it);
        bool found = at != cached.described.end();
        if (!found && files_unchanged) {
            at = cached.other.find(*it);
            found = at != cached.other.end();
        }
        if (found) answers.frames.emplace(*it, at->second);
        it = found ? open.erase(it) : std::next(it);
    }
    return answers;
}

void add(CachedModule& cached, const ResolvedModule& resolved, const FramesByAddress& best, std::string files) {
    cached.debug_link = resolved.debug_link;
    // Of what was not asked again nobody knows whether today's files would say more.
    if (files != cached.files) cached.other.clear();
    cached.files = std::move(files);
    for (const auto& [address, frames] : best) {
        if (resolved.described.count(address) != 0) {
            cached.other.erase(address);
            cached.described[address] = frames;
        } else if (!resolved.units_missing) {
            cached.other[address] = frames;
        }
    }
}

}  // namespace

Answers answers(const ModuleKey& module, const std::set<uint64_t>& addresses, SymbolCache& cache,
                const SearchPaths& paths) {
    const bool served = cache.serves(module.build_id);
    CachedModule cached;
    std::set<uint64_t> open = addresses;
    Answers answers;
    if (served) {
        cached = cache.read(module.build_id);
        const std::string files = files_present(module, paths, cached.debug_link);
        // A server may have what no file here has.
        answers = from_cache(cached, files.empty() || (files == cached.files && !paths.debuginfod), open);
        if (open.empty()) {
            answers.readable = true;
            return answers;
        }
    }
    ResolvedModule resolved = resolve_isolated(module, {open.begin(), open.end()}, paths);
    answers.readable = resolved.readable;
    bool all_answered = true;
    FramesByAddress best;
    for (const uint64_t address : open) {
        SourceFrames& frames = best[address];
        if (const auto at = resolved.frames.find(address); at != resolved.frames.end()) frames = std::move(at->second);
        const auto kept = cached.other.find(address);
        if (kept != cached.other.end() && resolved.described.count(address) == 0 && says_more(kept->second, frames)) {
            frames = kept->second;
        }
        all_answered = all_answered && !frames.empty();
    }
    // The files are gone or those of another build, but the cache had every name.
    if (!resolved.readable && all_answered) answers.readable = true;
    if (!answers.readable || resolved.readable) answers.problem = resolved.problem;
    if (served && resolved.readable && resolved.problem.empty()) {
        add(cached, resolved, best, files_present(module, paths, resolved.debug_link));
        cache.write(module.build_id, std::move(cached), addresses);
    }
    answers.frames.merge(best);
    return answers;
}

}  // namespace vramtrace::symbolize
