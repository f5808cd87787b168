// SPDX-License-Identifier: Apache-2.0
#include "analyzer/verdict/candidate.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "analyzer/opaque_arenas.h"

namespace vramtrace::verdict {
namespace {

void add(accounts::Amount& sum, const accounts::Amount& more) {
    sum.count += more.count;
    sum.bytes += more.bytes;
}

void add(std::vector<uint64_t>& sums, const std::vector<uint64_t>& more) {
    if (sums.size() < more.size()) sums.resize(more.size());
    for (size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

void add_series(Candidate& candidate, const accounts::SiteSeries& series) {
    add(candidate.trough_bytes, series.trough_bytes);
    add(candidate.trough_count, series.trough_count);
    add(candidate.born, series.born);
    add(candidate.survivor_count, series.survivor_count);
    add(candidate.survivor_bytes, series.survivor_bytes);
    for (const auto& release : series.releases) candidate.releases.push_back(release);
}

// Functions that make workspaces for a library of NVIDIA's on its behalf, as they stand in demangled names.
constexpr std::array<std::string_view, 7> kWorkspaceMakers = {
    "getNewWorkspace",       "getCurrentCUDABlasHandle", "getCUDABlasLtWorkspace", "CUDABlasWorkspace",
    "setWorkspaceForHandle", "cublas_workspace",         "cudnn_workspace"};

std::string library_of(const ProcessAnalysis& process, const NamedStack& stack) {
    if (stack.missing) return "";
    if (!stack.inside.empty()) return stack.inside;
    for (const uint32_t frame : stack.recorded()) {
        const std::string& function = process.frames[frame].function;
        for (const std::string_view maker : kWorkspaceMakers) {
            if (function.find(maker) != std::string::npos) return "cuBLAS or cuDNN (" + std::string(maker) + ")";
        }
    }
    return "";
}

bool in_pinned_cache(const ProcessAnalysis& process, const NamedStack& stack) {
    for (const uint32_t frame : stack.recorded()) {
        if (process.frames[frame].function.find("CachingHostAllocator") != std::string::npos) return true;
    }
    return false;
}

// Without a stack only the call itself tells sites apart.
std::string key_of(const ProcessAnalysis& process, const accounts::SiteKey& site, const NamedStack& stack) {
    if (stack.missing || stack.frames.empty()) return "\n" + process.api(site);
    if (!stack.site_key.empty()) return stack.site_key;  // verdicts do not depend on which frames are shown
    std::string key;
    for (size_t i = stack.headline; i < stack.frames.size(); ++i) {
        const NamedFrame& frame = process.frames[stack.frames[i]];
        key += frame.title() + '\n' + frame.place() + '\n';
    }
    return key;
}

}  // namespace

std::string Candidate::place() const {
    if (stack == nullptr || stack->missing || stack->frames.empty()) {
        return process->api(process->accounts.sites[sites.front()].key) + " (no call stack)";
    }
    // The next frame of the same owner's too: what allocates is often a helper that many call.
    const auto told = [&](size_t index) {
        const NamedFrame& frame = process->frames[stack->frames[index]];
        return frame.title() == frame.place() ? frame.title() : frame.title() + " at " + frame.place();
    };
    std::string text = told(stack->headline);
    const NamedFrame& headline = process->frames[stack->frames[stack->headline]];
    if (!headline.node.empty()) return text;  // above it stands autograd's engine
    for (size_t i = stack->headline + 1; i < stack->frames.size(); ++i) {
        const NamedFrame& frame = process->frames[stack->frames[i]];
        if (frame.vendor || frame.owner > headline.owner) continue;
        return text + " ← " + told(i);
    }
    return text;
}

std::vector<Candidate> candidates_of(const ProcessAnalysis& process) {
    std::vector<Candidate> candidates;
    std::map<std::tuple<std::string, std::string, bool, accounts::Kind>, size_t> places;
    const auto& sites = process.accounts.sites;
    for (accounts::SiteId id = 0; id < sites.size(); ++id) {
        const accounts::Site& site = sites[id];
        if (site.allocated.count == 0) continue;
        const NamedStack& stack = process.stack(site.key.stack);
        const std::string key = key_of(process, site.key, stack);
        const std::string library = library_of(process, stack);
        const bool pinned = site.key.kind == accounts::Kind::HostMemory && in_pinned_cache(process, stack);
        const auto [place, fresh] = places.try_emplace({key, library, pinned, site.key.kind}, candidates.size());
        if (fresh) candidates.emplace_back();
        Candidate& candidate = candidates[place->second];
        if (fresh) {
            candidate.process = &process;
            candidate.stack = &stack;
            candidate.stack_id = site.key.stack;
            candidate.key = key;
            candidate.library = library;
            candidate.pinned_cache = pinned;
            candidate.kind = site.key.kind;
            candidate.device = site.key.device;
            candidate.first = site.first;
        }
        if (candidate.device != site.key.device) candidate.device = trace::kNoDevice;
        candidate.sites.push_back(id);
        if (const OpaqueArena arena = opaque_arena(process, site); arena.is_one()) candidate.arena = arena.sentence();
        add(candidate.left, site.left);
        add(candidate.left_segments, site.left_segments);
        add(candidate.allocated, site.allocated);
        add(candidate.live, site.live);
        add(candidate.own_peak, site.own_peak);
        if (!process.accounts.exit) {
            add(candidate.freed_with_context, site.ended[static_cast<size_t>(replay::Ending::ContextEnded)]);
        }
        candidate.larger += site.larger;
        candidate.smaller += site.smaller;
        if (site.first.ticket < candidate.first.ticket) candidate.first = site.first;
        if (site.last.ticket > candidate.last.ticket) candidate.last = site.last;
        if (!process.iterations) continue;
        candidate.stride = process.iterations->stride;
        candidate.iterations = process.iterations->count;
        const auto series = process.iterations->sites.find(id);
        if (series != process.iterations->sites.end()) add_series(candidate, series->second);
    }
    return candidates;
}

size_t warm_up_rounds(size_t rounds) {
    return 1 + std::clamp<size_t>(rounds / 10, 2, 10);
}

}  // namespace vramtrace::verdict
