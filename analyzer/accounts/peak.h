// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/accounts/phase_cut.h"
#include "analyzer/accounts/timeline.h"
#include "analyzer/replay/observer.h"
#include "analyzer/replay/site.h"

// TOTALS AND THE MAKE-UP OF THE PEAK, exact to the byte, in one pass and O(1) an event.
//
// A site's share of the peak is its live bytes at that instant. Copying all sites at each new peak would be O(sites) for
// every event of a growing program. Instead each (device, quantity) counts its peaks, and a site copies its own live
// bytes only when it changes for the first time after a peak:
//
//   total.version   1          2          3                                   the peak: version 3
//   total       ____╱‾‾‾╲____╱‾‾╲_______╱‾‾╲_______
//   site A               ▲ changes: at_peak = live, version = 2    … then untouched ⇒ its share is `live`
//   site B                                  ▲ changes after 3: at_peak = live before it, version = 3 ⇒ its share is `at_peak`
//
// A site whose version is not the total's has not changed since the peak: then `live` is its share.
namespace vramtrace::accounts {

class Peak : public replay::Observer {
public:
    // With a cut, only a peak inside its windows counts; totals are of what was born there.
    explicit Peak(const replay::SiteTable* sites, const PhaseCut* cut = nullptr) : sites_(sites), cut_(cut) {
        places_.fill(kNone);
    }
    // A window has opened: what is live already may be the peak.
    void window_opened(Moment now);

    void on_allocate(const Allocation& allocation) override;
    void on_release(const Allocation& allocation, const replay::Release& release) override;
    void on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) override;
    void on_context_lost(const Allocation& allocation, const replay::Release& was) override;
    void on_in_flight(const Allocation& allocation, const replay::Release& was) override;

    Amount live(uint8_t device, Quantity quantity) const;
    // Grows whenever that total reaches a new peak.
    uint64_t version(uint8_t device, Quantity quantity) const;
    Amount live_of(SiteId site) const { return site < shares_.size() ? shares_[site].live : Amount{}; }
    Amount at_peak_of(SiteId site) const;

    // Sorted by device, then quantity.
    std::vector<Total> totals() const;
    std::vector<Timeline> timelines() const;

private:
    static constexpr uint16_t kNone = 0xffff;
    struct Ledger {
        Total total;
        Amount live;  // whatever the cut
        uint64_t version = 0;
        TimelineRecorder timeline;
    };
    struct Share {
        Amount live, at_peak;
        uint64_t version = 0;
        uint16_t ledger = kNone;  // until something is allocated at the site
    };

    static size_t place(uint8_t device, Quantity quantity) {
        return device * replay::kQuantities + static_cast<size_t>(quantity);
    }
    uint64_t measure(const Ledger& ledger, const Amount& amount) const {
        return ledger.total.quantity == Quantity::Handle ? amount.count : amount.bytes;
    }
    Share& share(SiteId site);
    Ledger& ledger_of(const Allocation& allocation) { return ledgers_[share(allocation.site).ledger]; }
    void grow(const Allocation& allocation, Moment now);
    void compare(Ledger& ledger, Moment now);
    bool counts(const Allocation& allocation) const { return cut_ == nullptr || PhaseCut::counts(allocation); }
    bool open() const { return cut_ == nullptr || cut_->open(); }
    std::vector<const Ledger*> sorted() const;

    const replay::SiteTable* sites_;
    const PhaseCut* cut_;
    std::vector<Share> shares_;  // by site
    std::vector<Ledger> ledgers_;
    std::array<uint16_t, 256 * replay::kQuantities> places_;
};

}  // namespace vramtrace::accounts
