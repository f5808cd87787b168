// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/iterations.h"

#include <algorithm>

namespace vramtrace::accounts {
namespace {

// Of a site's stretches, how many have to be like one before.
constexpr double kRegular = 0.6;
// Of the recording, how much must lie between its first and last allocation, and how much may come after.
constexpr double kCoverage = 0.5, kAfter = 0.25;

double share(const Accounts& accounts, uint64_t from, uint64_t to) {
    const double whole = static_cast<double>(accounts.last.ticket - accounts.first.ticket) + 1;
    return (static_cast<double>(to - from) + 1) / whole;
}
double coverage(const Accounts& accounts, const Site& site) {
    return share(accounts, site.first.ticket, site.last.ticket);
}
bool covers_enough(const Accounts& accounts, const Site& site) {
    return coverage(accounts, site) >= kCoverage && share(accounts, site.last.ticket, accounts.last.ticket) <= kAfter;
}

bool is_regular(const Site& site) {
    if (site.allocated.count < kLeastIterations || site.quantity() == Quantity::Handle) return false;
    return static_cast<double>(site.repeats) >= kRegular * static_cast<double>(site.allocated.count - 2);
}

}  // namespace

std::optional<IterationMarker> find_marker(const Accounts& accounts) {
    // In a job with tensors those tell: when its allocator needs another segment has a rhythm of its own.
    const bool tensors = std::any_of(accounts.sites.begin(), accounts.sites.end(), [](const Site& site) {
        return site.quantity() == Quantity::Block && site.allocated.count >= kLeastIterations;
    });
    const Site* best = nullptr;
    SiteId place = 0;
    for (SiteId id = 0; id < accounts.sites.size(); ++id) {
        const Site& site = accounts.sites[id];
        if (!is_regular(site) || (tensors && site.quantity() != Quantity::Block)) continue;
        const auto better = [&] {
            if (best == nullptr) return true;
            const bool covers = covers_enough(accounts, site);
            const bool best_covers = covers_enough(accounts, *best);
            if (covers != best_covers) return covers;
            if (!covers) return coverage(accounts, site) > coverage(accounts, *best);
            return site.allocated.count < best->allocated.count;
        };
        if (!better()) continue;
        best = &site;
        place = id;
    }
    if (best == nullptr) return std::nullopt;
    return IterationMarker{place, {}, best->allocated.count};
}

void IterationCounts::Lane::go_to(size_t next) {
    while (round < next) {
        ++round;
        least_bytes.push_back(bytes);
        least_count.push_back(count);
    }
}

void IterationCounts::Lane::change(size_t now, int64_t by_bytes, int64_t by_count) {
    if (least_bytes.empty()) {
        least_bytes.push_back(0);
        least_count.push_back(0);
    }
    go_to(now);
    bytes += static_cast<uint64_t>(by_bytes);
    count += static_cast<uint64_t>(by_count);
    least_bytes.back() = std::min(least_bytes.back(), bytes);
    least_count.back() = std::min(least_count.back(), count);
}

IterationCounts::IterationCounts(const Accounts& first_pass, const IterationMarker& marker) {
    out_.marker = marker;
    out_.stride = std::max<uint64_t>(1, (marker.count + kMostRounds - 1) / kMostRounds);
    wanted_.resize(first_pass.sites.size());
    for (size_t site = 0; site < wanted_.size(); ++site) {
        wanted_[site] = first_pass.sites[site].left.count > 0 || first_pass.sites[site].own_peak.count > 1;
    }
}

void IterationCounts::begin(Moment now) {
    if (out_.count++ % out_.stride != 0) return;
    out_.begins.push_back(now);
    round_ = out_.begins.size();
}

void IterationCounts::on_event(const trace::Event& event) {
    if (event.kind != trace::EventKind::RangeBegin && event.kind != trace::EventKind::Mark) return;
    if (out_.marker.texts.count(static_cast<uint32_t>(event.aux)) != 0) begin({event.sequence, event.time});
}

IterationCounts::Record* IterationCounts::wanted(SiteId site) {
    return site < wanted_.size() && wanted_[site] ? &records_[site] : nullptr;
}

void IterationCounts::change(const Allocation& allocation, int sign) {
    const int64_t bytes = sign * static_cast<int64_t>(allocation.counted_bytes());
    if (allocation.quantity() != Quantity::Handle) {
        lanes_[{allocation.counted_device(), allocation.quantity()}].change(round_, bytes, sign);
    }
    if (Record* record = wanted(allocation.site)) record->lane.change(round_, bytes, sign);
}

void IterationCounts::on_allocate(const Allocation& allocation) {
    if (out_.marker.texts.empty() && allocation.site == out_.marker.site) begin(allocation.birth);
    change(allocation, 1);
    if (Record* record = wanted(allocation.site)) {
        record->series.born.resize(round_ + 1);
        ++record->series.born[round_];
    }
}

void IterationCounts::on_release(const Allocation& allocation, const replay::Release& release) {
    change(allocation, -1);
    Record* record = wanted(allocation.site);
    if (record == nullptr) return;
    auto& releases = record->series.releases;
    const auto of = [&](uint32_t stack) {
        return std::find_if(releases.begin(), releases.end(), [&](const auto& known) { return known.stack == stack; });
    };
    auto known = of(release.stack);
    if (known == releases.end() && releases.size() < kReleaseStacks) {
        known = releases.insert(releases.end(), {release.stack, {}, {}});
    }
    if (known == releases.end()) known = of(0);
    if (known == releases.end()) known = releases.insert(releases.end(), {0, {}, {}});
    known->amount.add(allocation.counted_bytes());
    known->last = release.moment;
}

void IterationCounts::on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment) {
    change(allocation, 1);
    if (Record* record = wanted(allocation.site)) {
        for (auto& known : record->series.releases) {
            if (known.stack == taken_back.stack) known.amount.take(allocation.counted_bytes());
        }
    }
}

Iterations IterationCounts::result(const Accountant& second_pass) {
    const size_t rounds = out_.rounds();
    for (auto& [site, record] : records_) {
        record.lane.change(rounds - 1, 0, 0);
        record.series.trough_bytes = record.lane.least_bytes;
        record.series.trough_count = record.lane.least_count;
        record.series.born.resize(rounds);
        record.series.survivor_count.resize(rounds);
        record.series.survivor_bytes.resize(rounds);
        out_.sites[site] = std::move(record.series);
    }
    for (auto& [key, lane] : lanes_) {
        lane.change(rounds - 1, 0, 0);
        out_.troughs[key] = std::move(lane.least_bytes);
    }
    second_pass.for_each_left([&](const Allocation& allocation) {
        const auto series = out_.sites.find(allocation.site);
        if (series == out_.sites.end()) return;
        const auto after = std::upper_bound(out_.begins.begin(), out_.begins.end(), allocation.birth,
                                            [](const Moment& a, const Moment& b) { return a.ticket < b.ticket; });
        const auto round = static_cast<size_t>(after - out_.begins.begin());
        ++series->second.survivor_count[round];
        series->second.survivor_bytes[round] += allocation.counted_bytes();
    });
    return std::move(out_);
}

}  // namespace vramtrace::accounts
