// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/accountant.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "analyzer/accounts/at_exit.h"
#include "analyzer/accounts/block_stats.h"
#include "analyzer/accounts/call_sites.h"
#include "analyzer/accounts/device_samples.h"
#include "analyzer/accounts/failures.h"
#include "analyzer/accounts/handles.h"
#include "analyzer/accounts/leaks.h"
#include "analyzer/accounts/peak.h"
#include "analyzer/accounts/phase_cut.h"
#include "analyzer/accounts/phases.h"
#include "analyzer/accounts/refused_releases.h"
#include "analyzer/accounts/rhythm.h"
#include "analyzer/accounts/threads.h"
#include "analyzer/instant/page_footprint.h"

namespace vramtrace::accounts {

using trace::EventKind;

struct Accountant::Parts {
    explicit Parts(AccountantOptions options)
        : pattern(options.phase), phases(std::move(options.text), wanted(options.phase)) {}

    static OpenRanges::Wanted wanted(const std::optional<std::string>& pattern) {
        if (!pattern) return {};
        return [text = *pattern](std::string_view path) { return path_matches(text, path); };
    }

    std::optional<std::string> pattern;
    PhaseCut phase_cut;
    const PhaseCut* cut = pattern ? &phase_cut : nullptr;
    replay::Replay replay;
    Phases phases;
    std::deque<Gate> gates;
    Threads threads;
    CallSites sites{&replay.sites()};
    Peak peak{&replay.sites(), cut};
    Rhythm rhythm;
    instant::PageFootprint footprint;
    DeviceSamples samples{peak, footprint, replay.pools()};
    Failures failures{sites, peak, samples, threads};
    RefusedReleases refused;
    Handles handles;
    BlockStats blocks{replay.blocks()};
    AtExit at_exit{[this] { freeze(); }, [this] { thaw(); }};
    std::map<uint8_t, DeviceInstant> frozen;  // just before contexts ended
    std::vector<BlockTable> frozen_blocks;
    std::optional<std::vector<BlockTable>> blocks_at_close;  // of the last window

    uint64_t events = 0;
    Moment first, last;
    std::array<uint64_t, 256> by_kind{};
    std::vector<TextNote> notes;
    std::map<std::tuple<EventKind, uint32_t, uint64_t>, size_t> note_places;
    std::optional<Moment> stopped, paused;
    uint64_t pauses = 0;
    bool begun = false;  // `first` is set
    bool finished = false;

    void attach(replay::Observer& observer, Gate::Births births);
    void range(const trace::Event& event);
    void note(const trace::Event& event);
    void freeze();
    void thaw();
    DeviceInstant instant_of(uint8_t device) const;
    void add_left(Accounts& out) const;
    void for_each_left(const std::function<void(const Allocation&)>& visit) const;
};

Accountant::Accountant(AccountantOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {
    Parts& parts = *parts_;
    // The order matters: samples reads peak and footprint, failures reads peak and samples.
    parts.attach(parts.sites, Gate::Births::InWindows);
    parts.replay.attach(parts.peak);  // makes its own cut
    parts.attach(parts.rhythm, Gate::Births::InWindows);
    parts.replay.attach(parts.footprint);
    parts.replay.attach(parts.samples);
    parts.attach(parts.failures, Gate::Births::All);
    parts.attach(parts.refused, Gate::Births::All);
    parts.attach(parts.handles, Gate::Births::InWindows);
    parts.replay.attach(parts.blocks);
    parts.replay.attach(parts.at_exit);
    parts.replay.attach(parts.phases);
}

void Accountant::Parts::attach(replay::Observer& observer, Gate::Births births) {
    replay.attach(cut == nullptr ? observer : gates.emplace_back(observer, cut, births));
}

Accountant::~Accountant() = default;

void Accountant::Parts::range(const trace::Event& event) {
    const Moment now{event.sequence, event.time};
    phases.range(event);
    replay.tag_births(phases.tag());
    if (cut == nullptr) return;
    const std::vector<OpenRanges::Range>& open = phases.ranges().open();
    const bool began = event.kind == EventKind::RangeBegin && !open.empty() && open.back().wanted &&
                       open.back().begin.ticket == event.sequence;
    const bool was_open = phase_cut.open();
    const bool opened = phase_cut.update(phases.ranges().any_wanted(), began, now);
    if (was_open && !phase_cut.open()) blocks_at_close = blocks.tables();
    if (!opened) return;
    blocks_at_close.reset();
    peak.window_opened(now);
    samples.look(now);
}

void Accountant::Parts::note(const trace::Event& event) {
    const Moment now{event.sequence, event.time};
    if (event.kind == EventKind::RecordingStopped && event.size == 1) {
        if (!paused) paused = now;
        ++pauses;
        return;
    }
    if (event.kind == EventKind::RecordingStopped && !stopped) stopped = now;
    if (event.kind == EventKind::RecordingStarted) {
        stopped.reset();
        paused.reset();
    }
    if (event.kind != EventKind::Unhooked && event.kind != EventKind::BlindSpot &&
        event.kind != EventKind::RecordingStopped) {
        return;
    }
    const auto text = static_cast<uint32_t>(event.aux);
    const uint64_t version = event.kind == EventKind::Unhooked ? event.size : 0;
    const auto place = note_places.find({event.kind, text, version});
    if (place != note_places.end()) {
        ++notes[place->second].count;
    } else if (notes.size() < kNotes) {
        note_places[{event.kind, text, version}] = notes.size();
        notes.push_back({event.kind, text, version, now, 1});
    }
}

DeviceInstant Accountant::Parts::instant_of(uint8_t device) const {
    DeviceInstant instant;
    instant.now = instant::decompose(samples.now(device, last));
    instant.addresses = instant::map_addresses(replay, device);
    if (replay.blocks().any()) {
        const MemorySample* sample = samples.last(device);
        instant.segments = instant::map_segments(replay, device, sample != nullptr ? sample->free_bytes : 0);
    }
    return instant;
}

void Accountant::Parts::freeze() {
    for (const uint8_t device : samples.devices()) frozen[device] = instant_of(device);
    frozen_blocks = blocks.tables();
}

void Accountant::Parts::thaw() {
    frozen.clear();
    frozen_blocks.clear();
}

// Sums of what was left behind, for sites, totals and handles.
void Accountant::Parts::add_left(Accounts& out) const {
    const auto add = [](Amount& sum, const Amount& more) { sum.count += more.count, sum.bytes += more.bytes; };
    std::map<std::pair<Kind, uint8_t>, uint64_t> pieces;
    for (const Leak& leak : out.leaks) {
        Site& site = out.sites[leak.site];
        site.left = leak.live;
        site.left_segments = leak.segments;
        pieces[{site.key.kind, site.key.device}] += leak.live.count;
        for (Total& total : out.totals) {
            if (total.device == site.key.device && total.quantity == site.quantity()) add(total.left, leak.live);
        }
    }
    for (HandleCount& handle : out.handles) handle.left = pieces[{handle.kind, handle.device}];
}

void Accountant::Parts::for_each_left(const std::function<void(const Allocation&)>& visit) const {
    replay.live().for_each(visit);
    for (const auto& [id, allocation] : at_exit.left()) visit(allocation);
}

void Accountant::add(std::span<const trace::Event> events) {
    Parts& parts = *parts_;
    for (const trace::Event& event : events) {
        const Moment now{event.sequence, event.time};
        ++parts.events;
        // A range that was open before recording began comes first, with its own time.
        if (!parts.begun) parts.first = now, parts.begun = event.kind != EventKind::RangeBegin;
        ++parts.by_kind[static_cast<uint8_t>(event.kind)];
        parts.threads.touch(event);
        if (event.kind >= EventKind::Unhooked) parts.note(event);
        const bool of_phases =
            event.kind == EventKind::RangeBegin || event.kind == EventKind::RangeEnd || event.kind == EventKind::Mark;
        if (of_phases) parts.range(event);
        parts.replay.apply(event);
        parts.last = now;
    }
}

void Accountant::finish(const trace::SourceStatus& status) {
    parts_->replay.finish();
    for (const uint64_t ticket : status.in_flight) parts_->replay.in_flight(ticket);
    parts_->finished = true;
}

Accounts Accountant::accounts() const {
    Parts& parts = *parts_;
    Accounts out;
    out.events = parts.events;
    out.first = parts.first;
    out.last = parts.last;
    for (size_t kind = 0; kind < parts.by_kind.size(); ++kind) {
        if (parts.by_kind[kind] > 0) out.events_by_kind[static_cast<EventKind>(kind)] = parts.by_kind[kind];
    }
    out.totals = parts.peak.totals();
    out.timelines = parts.peak.timelines();
    if (parts.cut != nullptr && parts.replay.sites().size() != 0) parts.sites.know(parts.replay.sites().size() - 1);
    out.sites = parts.sites.sites(parts.peak);
    for (SiteId site = 0; site < out.sites.size(); ++site) {
        out.sites[site].repeats = parts.rhythm.repeats(site);
        out.sites[site].larger = parts.rhythm.larger(site);
        out.sites[site].smaller = parts.rhythm.smaller(site);
    }
    out.leaks = left_by_site(parts.replay.live(), parts.at_exit, parts.threads, out.sites, parts.cut);
    out.handles = parts.handles.handles();
    parts.add_left(out);
    out.exit = parts.at_exit.moment();
    out.late_frees = parts.at_exit.late_frees();
    out.failures = parts.failures.failures();
    out.failures_total = parts.failures.total();
    out.failures_recovered = parts.failures.recovered();
    out.framework_failures = parts.failures.framework();
    out.blocks = block_tables();
    out.outside = parts.replay.blocks().outside();
    out.refused_releases = parts.refused.rows();
    out.refused_releases_total = parts.refused.total();
    out.threads = parts.threads.threads();
    out.threads_dropped = parts.threads.dropped();
    out.memory_samples = parts.samples.samples();
    for (const auto& [key, state] : parts.replay.pools().states()) {
        out.pools.push_back({state.device,
                             state.pool,
                             {state.live_count, state.live_bytes},
                             state.peak_live_bytes,
                             state.destroyed,
                             state.last,
                             state.peak_reserved,
                             state.release_threshold});
    }
    for (const uint8_t device : parts.samples.devices()) {
        const auto frozen = parts.frozen.find(device);
        DeviceInstant& instant = out.devices[device] =
            frozen != parts.frozen.end() ? frozen->second : parts.instant_of(device);
        instant.at_peak = instant::decompose(parts.samples.at_peak(device));
        instant.footprint_peak = parts.footprint.of(device).peak;
    }
    out.oddities = parts.replay.oddities();
    out.notes = parts.notes;
    out.stopped = parts.stopped;
    out.paused = parts.paused;
    out.pauses = parts.pauses;
    out.phases = parts.phases.table(parts.last, [&](const Phases::Visit& visit) { parts.for_each_left(visit); });
    if (parts.cut != nullptr) out.cut = parts.phase_cut.window(*parts.pattern, parts.last);
    out.finished = parts.finished;
    return out;
}

void Accountant::for_each_left(const std::function<void(const Allocation&)>& visit) const {
    parts_->for_each_left([&](const Allocation& allocation) {
        if (parts_->cut == nullptr || PhaseCut::counts(allocation)) visit(allocation);
    });
}

std::vector<BlockTable> Accountant::block_tables() const {
    if (parts_->blocks_at_close) return *parts_->blocks_at_close;
    return parts_->frozen_blocks.empty() ? parts_->blocks.tables() : parts_->frozen_blocks;
}

const replay::Replay& Accountant::replay() const {
    return parts_->replay;
}

void Accountant::attach(replay::Observer& observer) {
    parts_->attach(observer, Gate::Births::InWindows);
}

const Total* Accounts::total(uint8_t device, Quantity quantity) const {
    for (const Total& total : totals) {
        if (total.device == device && total.quantity == quantity) return &total;
    }
    return nullptr;
}

const Thread* Accounts::thread(uint32_t tid) const {
    for (const Thread& thread : threads) {
        if (thread.thread == tid) return &thread;
    }
    return nullptr;
}

Accounts account(trace::EventSource& source) {
    Accountant accountant;
    std::vector<trace::Event> batch;
    while (source.next_batch(batch)) accountant.add(batch);
    accountant.finish(source.status());
    return accountant.accounts();
}

}  // namespace vramtrace::accounts
