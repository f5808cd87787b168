// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/accounts/peak.h"
#include "analyzer/replay/observer.h"
#include "analyzer/replay/site.h"

namespace vramtrace::accounts {

// What each call site did: how much it allocated, what became of it, how long it lived, which threads came by.
class CallSites : public replay::Observer {
public:
    explicit CallSites(const replay::SiteTable* sites) : sites_(sites) {}

    void on_allocate(const Allocation& allocation) override;
    void on_release(const Allocation& allocation, const replay::Release& release) override;
    void on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) override;
    void on_context_lost(const Allocation& allocation, const replay::Release& was) override;
    void on_in_flight(const Allocation& allocation, const replay::Release& was) override;
    void on_failed(const trace::Event& event, SiteId site) override;
    void failed(SiteId site) { ++at(site).site.failures; }
    // All sites up to this one are listed, whether they did anything or not.
    void know(SiteId site) { at(site); }
    void recovered(SiteId site) { ++at(site).site.failures_recovered; }

    // Indexed by SiteId; live and at_peak are those of `peak`.
    std::vector<Site> sites(const Peak& peak) const;

private:
    static constexpr size_t kLifetimes = 48;  // powers of two of ns: up to three days
    struct Record {
        Site site;
        std::array<uint32_t, kLifetimes> lifetimes{};
    };
    Record& at(SiteId site);
    void raise(Record& record, Moment now);
    static uint64_t median(const Record& record);

    const replay::SiteTable* sites_;
    std::vector<Record> records_;
};

}  // namespace vramtrace::accounts
