// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "analyzer/accounts/accountant.h"
#include "analyzer/analysis.h"
#include "analyzer/named_stacks.h"
#include "analyzer/process_facts.h"

namespace vramtrace {

struct ProcessReading::Parts {
    ProcessAnalysis analysis;
    RawStacks stacks;
    std::optional<std::string> phase;
};

namespace {

// Names of ranges as the source knows them. The definitions live as long as the source.
accounts::AccountantOptions options_for(const trace::EventSource& source, const std::optional<std::string>& phase) {
    return {[&definitions = source.definitions()](uint32_t id) {
                const auto body = definitions.body(id, trace::DefinitionKind::String);
                return std::string_view(reinterpret_cast<const char*>(body.data()), body.size());
            },
            phase};
}

// What to do once the event with this ticket, and all before it, have been accounted: the device stands still for it.
using Stops = std::multimap<uint64_t, std::function<void(const accounts::Accountant&)>>;

// A lost event's ticket never comes: its stop is made where the next one's does.
void add_with_stops(accounts::Accountant& accountant, std::span<const trace::Event> batch, Stops& stops) {
    while (!stops.empty()) {
        const uint64_t ticket = stops.begin()->first;
        const auto later = std::find_if(batch.begin(), batch.end(),
                                        [ticket](const trace::Event& event) { return event.sequence > ticket; });
        if (later == batch.end()) break;
        const auto until = static_cast<size_t>(later - batch.begin());
        accountant.add(batch.first(until));
        batch = batch.subspan(until);
        stops.begin()->second(accountant);
        stops.erase(stops.begin());
    }
    accountant.add(batch);
}

}  // namespace

ProcessReading::~ProcessReading() = default;
ProcessReading::ProcessReading(ProcessReading&&) noexcept = default;

ProcessReading::ProcessReading(trace::EventSource& source, symbolize::Symbolizer& symbolizer,
                               const ProgressReport& progress, const ReadingOptions& options)
    : parts_(std::make_unique<Parts>()) {
    ProcessAnalysis& analysis = parts_->analysis;
    parts_->phase = options.phase;
    accounts::Accountant accountant(options_for(source, options.phase));
    std::vector<trace::Event> batch;
    uint64_t expected = 0;
    uint64_t last_time = 0;
    uint64_t start = source.status().identity.open_monotonic;
    while (source.next_batch(batch)) {
        if (batch.empty() || analysis.cut_at) continue;  // the end is read for what the source says of itself
        if (options.at) {
            if (expected == 0 && (start == 0 || start > batch.front().time)) start = batch.front().time;
            const auto later = std::find_if(batch.begin(), batch.end(), [&](const trace::Event& event) {
                return event.time > start && event.time - start > *options.at;
            });
            if (later != batch.end()) analysis.cut_at = options.at;
            batch.erase(later, batch.end());
        }
        accountant.add(batch);
        for (const trace::Event& event : batch) {
            if (event.sequence != expected && !analysis.first_gap) analysis.first_gap = last_time;
            expected = event.sequence + 1;
            last_time = event.time;
        }
        if (progress) progress(source.bytes_done(), source.bytes_total());
    }
    analysis.status = source.status();
    // What was in flight at its death was so later.
    accountant.finish(analysis.cut_at ? trace::SourceStatus{} : analysis.status);
    analysis.accounts = accountant.accounts();
    const trace::DefinitionView& definitions = source.definitions();
    analysis.facts = read_facts(definitions);
    analysis.names = read_names(definitions);
    // Only stacks that a number hangs on need names: those of sites.
    for (const accounts::Site& site : analysis.accounts.sites) parts_->stacks.add(definitions, site.key.stack);
    for (const auto& refused : analysis.accounts.refused_releases) parts_->stacks.add(definitions, refused.key.stack);
    parts_->stacks.want(symbolizer);
    for (const accounts::TextNote& note : analysis.accounts.notes) {
        const auto body = definitions.body(note.text, trace::DefinitionKind::String);
        analysis.texts.emplace(note.text, std::string(reinterpret_cast<const char*>(body.data()), body.size()));
    }
}

void ProcessReading::read_again(trace::EventSource& source, symbolize::Symbolizer& symbolizer,
                                const ProgressReport& progress) {
    ProcessAnalysis& analysis = parts_->analysis;
    const auto marker = accounts::find_marker(analysis.accounts);
    Stops stops;
    if (!marker && stops.empty()) return;
    accounts::Accountant accountant(options_for(source, parts_->phase));
    std::optional<accounts::IterationCounts> counts;
    if (marker) accountant.attach(counts.emplace(analysis.accounts, *marker));
    std::vector<trace::Event> batch;
    while (source.next_batch(batch)) {
        // A running job has gone on since the first pass: that is not part of this analysis.
        while (!batch.empty() && batch.back().sequence > analysis.accounts.last.ticket) batch.pop_back();
        add_with_stops(accountant, batch, stops);
        if (progress) progress(source.bytes_done(), source.bytes_total());
    }
    for (const auto& [ticket, stop] : stops) stop(accountant);
    accountant.finish(analysis.cut_at ? trace::SourceStatus{} : analysis.status);
    if (counts) {
        analysis.iterations = counts->result(accountant);
        for (const auto& [site, series] : analysis.iterations->sites) {
            for (const auto& release : series.releases) parts_->stacks.add(source.definitions(), release.stack);
        }
    }
    parts_->stacks.want(symbolizer);
}

ProcessAnalysis ProcessReading::named(const symbolize::Symbolizer& symbolizer, ShownFrames shown) && {
    ProcessAnalysis analysis = std::move(parts_->analysis);
    analysis.stacks = parts_->stacks.named(symbolizer, analysis.frames, shown);
    return analysis;
}

}  // namespace vramtrace
