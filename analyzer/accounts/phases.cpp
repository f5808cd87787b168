// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/phases.h"

#include <algorithm>
#include <tuple>

namespace vramtrace::accounts {

namespace {

constexpr size_t kThreadsOfPhase = 16;

void note_thread(Phase& phase, uint32_t thread) {
    if (std::find(phase.threads.begin(), phase.threads.end(), thread) != phase.threads.end()) return;
    if (phase.threads.size() < kThreadsOfPhase) {
        phase.threads.push_back(thread);
    } else {
        phase.more_threads = true;
    }
}

void add(Amount& sum, const Amount& more) {
    sum.count += more.count;
    sum.bytes += more.bytes;
}

int64_t difference(uint64_t to, uint64_t from) {
    return static_cast<int64_t>(to - from);
}

}  // namespace

void Phases::range(const trace::Event& event) {
    if (event.kind == trace::EventKind::Mark) {
        ++marks_;
        return;
    }
    if (event.kind == trace::EventKind::RangeBegin) {
        if (!ranges_.begin(event)) return;
        const OpenRanges::Range& opened = ranges_.open().back();
        record_of(opened);
        Measures& measures = measures_.emplace_back(ledgers_.size());
        for (size_t i = 0; i < ledgers_.size(); ++i) {
            measures[i].live_begin = measures[i].peak = ledgers_[i].live.bytes;
            measures[i].peak_moment = opened.begin;
            measures[i].any = ledgers_[i].live.bytes != 0;
        }
        return;
    }
    const auto ended = ranges_.end(event);
    if (!ended) return;
    close(ledgers_, record_of(ended->range), ended->range, measures_[ended->place], {event.sequence, event.time},
          false);
    measures_.erase(measures_.begin() + static_cast<std::ptrdiff_t>(ended->place));
}

Phases::Record& Phases::record_of(const OpenRanges::Range& range) {
    const auto [place, fresh] = records_.try_emplace(range.path);
    Phase& phase = place->second.phase;
    if (fresh) {
        phase.path = ranges_.paths()[range.path];
        phase.depth = range.path == 0 ? 0 : range.depth;
        phase.first = range.begin;
    }
    return place->second;
}

uint16_t Phases::ledger_of(const Allocation& allocation) {
    const uint8_t device = allocation.counted_device();
    uint16_t& known = places_[device * replay::kQuantities + static_cast<size_t>(allocation.quantity())];
    if (known == kNone) {
        known = static_cast<uint16_t>(ledgers_.size());
        ledgers_.push_back({device, allocation.quantity(), {}});
    }
    return known;
}

Phases::Measure& Phases::measure(size_t range, uint16_t ledger) {
    Measures& measures = measures_[range];
    if (measures.size() <= ledger) {
        const size_t known = measures.size();
        measures.resize(ledgers_.size());
        // Nothing of these was live when the range began.
        for (size_t i = known; i < measures.size(); ++i) measures[i].peak_moment = ranges_.open()[range].begin;
    }
    measures[ledger].any = true;
    return measures[ledger];
}

void Phases::grow(uint16_t ledger, uint64_t bytes, Moment now) {
    ledgers_[ledger].live.add(bytes);
    for (size_t range = 0; range < measures_.size(); ++range) {
        Measure& measured = measure(range, ledger);
        if (ledgers_[ledger].live.bytes <= measured.peak) continue;
        measured.peak = ledgers_[ledger].live.bytes;
        measured.peak_moment = now;
    }
}

void Phases::on_allocate(const Allocation& allocation) {
    if (allocation.quantity() == Quantity::Handle) return;
    const uint16_t ledger = ledger_of(allocation);
    grow(ledger, allocation.counted_bytes(), allocation.birth);
    for (size_t range = 0; range < measures_.size(); ++range) {
        Measure& measured = measure(range, ledger);
        measured.allocated.add(allocation.counted_bytes());
        measured.survivors.add(allocation.counted_bytes());
    }
}

void Phases::on_release(const Allocation& allocation, const replay::Release&) {
    if (allocation.quantity() == Quantity::Handle) return;
    const uint16_t ledger = ledger_of(allocation);
    ledgers_[ledger].live.take(allocation.counted_bytes());
    for (size_t range = 0; range < measures_.size(); ++range) {
        Measure& measured = measure(range, ledger);
        measured.freed.add(allocation.counted_bytes());
        if (allocation.birth.ticket >= ranges_.open()[range].begin.ticket)
            measured.survivors.take(allocation.counted_bytes());
    }
}

void Phases::on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) {
    if (allocation.quantity() == Quantity::Handle) return;
    const uint16_t ledger = ledger_of(allocation);
    grow(ledger, allocation.counted_bytes(), now);
    for (size_t range = 0; range < measures_.size(); ++range) {
        // A release before the range began was not counted in it.
        if (taken_back.moment.ticket < ranges_.open()[range].begin.ticket) continue;
        Measure& measured = measure(range, ledger);
        measured.freed.take(allocation.counted_bytes());
        if (allocation.birth.ticket >= ranges_.open()[range].begin.ticket)
            measured.survivors.add(allocation.counted_bytes());
    }
}

void Phases::close(const std::vector<Ledger>& ledgers, Record& record, const OpenRanges::Range& range,
                   const Measures& measures, Moment end, bool open) {
    Phase& phase = record.phase;
    PhaseOccurrence occurrence;
    occurrence.number = phase.occurrences++;
    occurrence.begin = range.begin;
    occurrence.end = end;
    occurrence.thread = range.thread;
    occurrence.id = range.id;
    occurrence.open = open;
    if (open) ++phase.open;
    phase.duration += end.time > range.begin.time ? end.time - range.begin.time : 0;
    (range.nvtx ? phase.by_nvtx : phase.by_marker) = true;
    note_thread(phase, range.thread);
    for (uint16_t i = 0; i < measures.size(); ++i) {
        const Measure& measured = measures[i];
        if (!measured.any) continue;
        const Ledger& ledger = ledgers[i];
        const uint64_t live_end = ledger.live.bytes;
        occurrence.amounts.push_back({ledger.device, ledger.quantity, measured.live_begin, live_end, measured.peak,
                                      measured.peak_moment, measured.allocated, measured.freed, measured.survivors});
        const auto [place, fresh] = record.sums.try_emplace(i);
        PhaseSum& sum = place->second;
        sum.device = ledger.device;
        sum.quantity = ledger.quantity;
        const int64_t change = difference(live_end, measured.live_begin);
        // Sizes of a damaged trace may sum beyond all bounds: wrapped around, as the unsigned sums beside it.
        sum.change = static_cast<int64_t>(static_cast<uint64_t>(sum.change) + static_cast<uint64_t>(change));
        sum.least_change = fresh ? change : std::min(sum.least_change, change);
        sum.greatest_change = fresh ? change : std::max(sum.greatest_change, change);
        if (fresh || measured.peak > sum.peak) {
            sum.peak = measured.peak;
            sum.peak_moment = measured.peak_moment;
        }
        sum.rise = std::max(sum.rise, measured.peak - measured.live_begin);
        add(sum.allocated, measured.allocated);
        add(sum.freed, measured.freed);
        add(sum.survivors, measured.survivors);
    }
    if (phase.kept.size() < kPhaseOccurrences) {
        phase.kept.push_back(std::move(occurrence));
    } else {
        if (record.last.size() == kPhaseOccurrences) record.last.pop_front();
        record.last.push_back(std::move(occurrence));
    }
}

PhaseTable Phases::table(Moment now, const std::function<void(const Visit&)>& for_each_left) const {
    std::map<uint32_t, Record> records = records_;
    for (size_t range = 0; range < measures_.size(); ++range) {
        const OpenRanges::Range& open = ranges_.open()[range];
        close(ledgers_, records[open.path], open, measures_[range], now, true);
    }
    if (!records.empty()) {
        for_each_left([&](const Allocation& allocation) {
            if (allocation.tag >> 1 == 0 || allocation.quantity() == Quantity::Handle) return;
            const uint16_t ledger =
                places_[allocation.counted_device() * replay::kQuantities + static_cast<size_t>(allocation.quantity())];
            for (const uint32_t path : ranges_.set_paths(allocation.tag >> 1))
                records[path].sums[ledger].left.add(allocation.counted_bytes());
        });
    }
    PhaseTable out;
    for (auto& [path, record] : records) {
        Phase& phase = record.phase;
        for (const auto& [ledger, sum] : record.sums) phase.sums.push_back(sum);
        std::sort(phase.sums.begin(), phase.sums.end(), [](const PhaseSum& a, const PhaseSum& b) {
            return std::tuple(a.device, a.quantity) < std::tuple(b.device, b.quantity);
        });
        for (PhaseOccurrence& occurrence : record.last) phase.kept.push_back(std::move(occurrence));
        out.phases.push_back(std::move(phase));
    }
    std::sort(out.phases.begin(), out.phases.end(),
              [](const Phase& a, const Phase& b) { return a.first.ticket < b.first.ticket; });
    out.marks = marks_;
    out.unmatched_ends = ranges_.unmatched_ends();
    out.not_measured = ranges_.not_measured();
    out.nameless = ranges_.nameless();
    out.left_incomplete = ranges_.sets_incomplete();
    return out;
}

}  // namespace vramtrace::accounts
