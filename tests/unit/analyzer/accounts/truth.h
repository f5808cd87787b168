// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/accounts/accounts.h"

namespace vramtrace::test {

using accounts::Amount;
using replay::Kind;
using replay::Quantity;

// Books kept by brute force: every new peak copies every site.
class Truth {
public:
    using Site = std::tuple<uint32_t, Kind, uint8_t>;  // stack, kind, device
    using Account = std::pair<uint8_t, Quantity>;
    struct Peak {
        Amount amount;
        uint64_t ticket = 0;
        std::map<Site, Amount> sites;
    };

    void begin(const Site& site, uint64_t bytes, uint64_t ticket, bool is_new = true) {
        const Account account{std::get<2>(site), replay::quantity_of(std::get<1>(site))};
        const uint64_t counted = account.second == Quantity::Handle ? 0 : bytes;
        live[account][site].add(counted);
        Amount& total = totals[account];
        total.add(counted);
        if (is_new) allocated[site].add(counted);
        Peak& peak = peaks[account];
        const bool higher =
            account.second == Quantity::Handle ? total.count > peak.amount.count : total.bytes > peak.amount.bytes;
        if (higher) peak = {total, ticket, live[account]};
    }
    void end(const Site& site, uint64_t bytes) {
        const Account account{std::get<2>(site), replay::quantity_of(std::get<1>(site))};
        const uint64_t counted = account.second == Quantity::Handle ? 0 : bytes;
        live[account][site].take(counted);
        totals[account].take(counted);
    }

    std::map<Account, Amount> totals;
    std::map<Account, std::map<Site, Amount>> live;
    std::map<Account, Peak> peaks;
    std::map<Site, Amount> allocated;
};

}  // namespace vramtrace::test
