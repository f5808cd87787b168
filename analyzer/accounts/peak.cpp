// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/peak.h"

#include <algorithm>

namespace vramtrace::accounts {

Peak::Share& Peak::share(SiteId site) {
    if (shares_.size() <= site) shares_.resize(site + 1);
    Share& share = shares_[site];
    if (share.ledger != kNone) return share;
    const SiteKey& key = sites_->key(site);
    uint16_t& known = places_[place(key.device, key.quantity())];
    if (known == kNone) {
        known = static_cast<uint16_t>(ledgers_.size());
        ledgers_.emplace_back();
        ledgers_.back().total.device = key.device;
        ledgers_.back().total.quantity = key.quantity();
    }
    share.ledger = known;
    return share;
}

void Peak::grow(const Allocation& allocation, Moment now) {
    Share& site = share(allocation.site);
    Ledger& ledger = ledgers_[site.ledger];
    if (site.version != ledger.version) site.at_peak = site.live, site.version = ledger.version;
    const uint64_t before = measure(ledger, ledger.live);
    site.live.add(allocation.counted_bytes());
    ledger.live.add(allocation.counted_bytes());
    if (counts(allocation)) ledger.total.live.add(allocation.counted_bytes());
    if (!open()) return;
    ledger.timeline.record(now.time, before, measure(ledger, ledger.live));
    compare(ledger, now);
}

void Peak::compare(Ledger& ledger, Moment now) {
    if (measure(ledger, ledger.live) <= measure(ledger, ledger.total.peak)) return;
    ledger.total.peak = ledger.live;
    ledger.total.peak_moment = now;
    ++ledger.version;
}

void Peak::window_opened(Moment now) {
    for (Ledger& ledger : ledgers_) compare(ledger, now);
}

void Peak::on_allocate(const Allocation& allocation) {
    Total& total = ledger_of(allocation).total;
    if (counts(allocation)) total.allocated.add(allocation.counted_bytes());
    grow(allocation, allocation.birth);
}

void Peak::on_release(const Allocation& allocation, const replay::Release& release) {
    Share& site = share(allocation.site);
    Ledger& ledger = ledgers_[site.ledger];
    if (site.version != ledger.version) site.at_peak = site.live, site.version = ledger.version;
    const uint64_t before = measure(ledger, ledger.live);
    site.live.take(allocation.counted_bytes());
    ledger.live.take(allocation.counted_bytes());
    if (counts(allocation)) {
        ledger.total.live.take(allocation.counted_bytes());
        ledger.total.ended[static_cast<size_t>(release.ending)].add(allocation.counted_bytes());
    }
    if (open()) ledger.timeline.record(release.moment.time, before, measure(ledger, ledger.live));
}

void Peak::on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) {
    Total& total = ledger_of(allocation).total;
    if (counts(allocation)) total.ended[static_cast<size_t>(taken_back.ending)].take(allocation.counted_bytes());
    grow(allocation, now);
}

void Peak::on_context_lost(const Allocation& allocation, const replay::Release& was) {
    if (!counts(allocation)) return;
    Total& total = ledger_of(allocation).total;
    total.ended[static_cast<size_t>(was.ending)].take(allocation.counted_bytes());
    total.ended[static_cast<size_t>(Ending::ContextLost)].add(allocation.counted_bytes());
}

void Peak::on_in_flight(const Allocation& allocation, const replay::Release& was) {
    if (!counts(allocation)) return;
    Total& total = ledger_of(allocation).total;
    total.ended[static_cast<size_t>(was.ending)].take(allocation.counted_bytes());
    total.in_flight.add(allocation.counted_bytes());
}

Amount Peak::live(uint8_t device, Quantity quantity) const {
    const uint16_t known = places_[place(device, quantity)];
    return known == kNone ? Amount{} : ledgers_[known].live;
}

uint64_t Peak::version(uint8_t device, Quantity quantity) const {
    const uint16_t known = places_[place(device, quantity)];
    return known == kNone ? 0 : ledgers_[known].version;
}

Amount Peak::at_peak_of(SiteId site) const {
    if (site >= shares_.size()) return {};
    const Share& share = shares_[site];
    if (share.ledger == kNone) return {};
    return share.version == ledgers_[share.ledger].version ? share.at_peak : share.live;
}

std::vector<const Peak::Ledger*> Peak::sorted() const {
    std::vector<const Ledger*> out;
    for (const uint16_t known : places_) {  // places are in the order of device and quantity
        if (known != kNone) out.push_back(&ledgers_[known]);
    }
    return out;
}

std::vector<Total> Peak::totals() const {
    std::vector<Total> out;
    for (const Ledger* ledger : sorted()) out.push_back(ledger->total);
    return out;
}

std::vector<Timeline> Peak::timelines() const {
    std::vector<Timeline> out;
    for (const Ledger* ledger : sorted()) {
        out.push_back(ledger->timeline.timeline(ledger->total.device, ledger->total.quantity));
    }
    return out;
}

}  // namespace vramtrace::accounts
