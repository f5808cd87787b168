// SPDX-License-Identifier: Apache-2.0
#include "analyzer/verdict/candidate.h"

#include <algorithm>
#include <map>
#include <tuple>

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

}  // namespace

std::string Candidate::place() const {
    if (stack == nullptr || stack->missing || stack->frames.empty()) {
        return process->api(process->accounts.sites[sites.front()].key) + " (no call stack)";
    }
    // The next frame too: what allocates is often a helper that many call.
    const auto told = [&](size_t index) {
        const NamedFrame& frame = process->frames[stack->frames[index]];
        return frame.title() == frame.place() ? frame.title() : frame.title() + " at " + frame.place();
    };
    std::string text = told(stack->headline);
    if (stack->headline + 1 < stack->frames.size()) text += " ← " + told(stack->headline + 1);
    return text;
}

std::vector<Candidate> candidates_of(const ProcessAnalysis& process) {
    std::vector<Candidate> candidates;
    std::map<std::tuple<std::string, accounts::Kind>, size_t> places;
    const auto& sites = process.accounts.sites;
    for (accounts::SiteId id = 0; id < sites.size(); ++id) {
        const accounts::Site& site = sites[id];
        if (site.allocated.count == 0) continue;
        const NamedStack& stack = process.stack(site.key.stack);
        // Without a stack only the call itself tells sites apart.
        const std::string key = stack.missing ? "\n" + process.api(site.key) : stack.key;
        const auto [place, fresh] = places.try_emplace({key, site.key.kind}, candidates.size());
        if (fresh) candidates.emplace_back();
        Candidate& candidate = candidates[place->second];
        if (fresh) {
            candidate.process = &process;
            candidate.stack = &stack;
            candidate.stack_id = site.key.stack;
            candidate.key = key;
            candidate.kind = site.key.kind;
            candidate.device = site.key.device;
            candidate.first = site.first;
        }
        if (candidate.device != site.key.device) candidate.device = trace::kNoDevice;
        candidate.sites.push_back(id);
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
