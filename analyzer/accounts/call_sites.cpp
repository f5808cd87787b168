// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/call_sites.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vramtrace::accounts {
namespace {

// Ended by a decision of the program, not with its context or by a gap in the trace.
bool is_churn(Ending ending) {
    return ending == Ending::Freed || ending == Ending::FreedByGraph;
}

uint64_t lifetime_of(const Allocation& allocation, const replay::Release& release) {
    return release.moment.time > allocation.birth.time ? release.moment.time - allocation.birth.time : 0;
}

size_t bucket_of(uint64_t lifetime, size_t buckets) {
    return std::min<size_t>(lifetime == 0 ? 0 : static_cast<size_t>(std::bit_width(lifetime)) - 1, buckets - 1);
}

}  // namespace

CallSites::Record& CallSites::at(SiteId site) {
    while (records_.size() <= site) {
        records_.emplace_back();
        records_.back().site.key = sites_->key(static_cast<SiteId>(records_.size() - 1));
    }
    return records_[site];
}

void CallSites::raise(Record& record, Moment now) {
    Site& site = record.site;
    const bool by_bytes = site.quantity() != Quantity::Handle;
    if (by_bytes ? site.live.bytes > site.own_peak.bytes : site.live.count > site.own_peak.count) {
        site.own_peak = site.live;
        site.own_peak_moment = now;
    }
}

void CallSites::on_allocate(const Allocation& allocation) {
    Record& record = at(allocation.site);
    Site& site = record.site;
    if (site.allocated.count == 0) site.first = allocation.birth;
    site.last = allocation.birth;
    site.allocated.add(allocation.counted_bytes());
    site.live.add(allocation.counted_bytes());
    site.largest = std::max(site.largest, allocation.bytes);
    raise(record, allocation.birth);
    if (site.threads.empty() || site.threads.back() != allocation.thread) {
        if (std::find(site.threads.begin(), site.threads.end(), allocation.thread) == site.threads.end()) {
            if (site.threads.size() < kSiteThreads) {
                site.threads.push_back(allocation.thread);
            } else {
                site.more_threads = true;
            }
        }
    }
}

void CallSites::on_release(const Allocation& allocation, const replay::Release& release) {
    Record& record = at(allocation.site);
    Site& site = record.site;
    site.live.take(allocation.counted_bytes());
    site.ended[static_cast<size_t>(release.ending)].add(allocation.counted_bytes());
    if (!is_churn(release.ending)) return;
    const uint64_t lifetime = lifetime_of(allocation, release);
    if (site.churned == 0 || lifetime < site.lifetime_min) site.lifetime_min = lifetime;
    site.lifetime_max = std::max(site.lifetime_max, lifetime);
    site.lifetime_sum += lifetime;
    ++site.churned;
    ++record.lifetimes[bucket_of(lifetime, kLifetimes)];
}

void CallSites::on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) {
    Record& record = at(allocation.site);
    Site& site = record.site;
    site.live.add(allocation.counted_bytes());
    site.ended[static_cast<size_t>(taken_back.ending)].take(allocation.counted_bytes());
    raise(record, now);
    if (!is_churn(taken_back.ending)) return;
    const uint64_t lifetime = lifetime_of(allocation, taken_back);
    --site.churned;
    site.lifetime_sum -= lifetime;
    --record.lifetimes[bucket_of(lifetime, kLifetimes)];
}

void CallSites::on_context_lost(const Allocation& allocation, const replay::Release& was) {
    Site& site = at(allocation.site).site;
    site.ended[static_cast<size_t>(was.ending)].take(allocation.counted_bytes());
    site.ended[static_cast<size_t>(Ending::ContextLost)].add(allocation.counted_bytes());
}

void CallSites::on_in_flight(const Allocation& allocation, const replay::Release& was) {
    Site& site = at(allocation.site).site;
    site.ended[static_cast<size_t>(was.ending)].take(allocation.counted_bytes());
    site.in_flight.add(allocation.counted_bytes());
}

void CallSites::on_failed(const trace::Event& event, SiteId site) {
    // A framework's out-of-memory may be the upper layer of a refused driver call: Failures knows.
    at(site);
    if (event.kind != trace::EventKind::FrameworkOutOfMemory) failed(site);
}

uint64_t CallSites::median(const Record& record) {
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket < kLifetimes; ++bucket) {
        seen += record.lifetimes[bucket];
        if (seen * 2 < record.site.churned) continue;
        // The middle of [2^b, 2^(b+1)) as ratios go.
        const auto middle = static_cast<uint64_t>(std::ldexp(std::sqrt(2.0), static_cast<int>(bucket)));
        return std::clamp(middle, record.site.lifetime_min, record.site.lifetime_max);
    }
    return 0;
}

std::vector<Site> CallSites::sites(const Peak& peak) const {
    std::vector<Site> out;
    out.reserve(records_.size());
    for (const Record& record : records_) {
        out.push_back(record.site);
        Site& site = out.back();
        site.at_peak = peak.at_peak_of(static_cast<SiteId>(out.size() - 1));
        site.lifetime_median = record.site.churned > 0 ? median(record) : 0;
        if (site.churned == 0) site.lifetime_min = site.lifetime_max = 0;
    }
    return out;
}

}  // namespace vramtrace::accounts
