// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/replay/observer.h"

namespace vramtrace::accounts {

// HOW REGULARLY EACH SITE ALLOCATES: whether its thread did the same between two allocations of the site as between two
// earlier ones. What was done is the multiset of the sites that allocated memory, as a sum of hashes: the order does not
// matter, sizes do not matter, and what other threads did meanwhile does not either.
class Rhythm : public replay::Observer {
public:
    void on_allocate(const Allocation& allocation) override;

    // Of its allocations, those whose stretch since the one before was like one of the site's usual stretches.
    uint64_t repeats(SiteId site) const { return site < records_.size() ? records_[site].repeats : 0; }
    // Of its allocations, those larger (smaller) than the one before at the same site.
    uint64_t larger(SiteId site) const { return site < records_.size() ? records_[site].larger : 0; }
    uint64_t smaller(SiteId site) const { return site < records_.size() ? records_[site].smaller : 0; }

private:
    static constexpr size_t kUsual = 4;
    struct Usual {
        uint64_t stretch = 0;
        uint64_t seen = 0;
    };
    struct Record {
        uint64_t last_sum = 0;
        uint32_t last_thread = 0;
        bool any = false;
        std::array<Usual, kUsual> usual{};
        uint64_t repeats = 0, larger = 0, smaller = 0;
        uint64_t last_bytes = 0;
    };

    std::unordered_map<uint32_t, uint64_t> sums_;  // by thread
    std::vector<Record> records_;
};

}  // namespace vramtrace::accounts
