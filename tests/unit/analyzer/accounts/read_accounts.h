// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/accounts/accountant.h"
#include "tests/support/catch.h"
#include "tests/support/event_builder.h"
#include "tests/support/vector_source.h"

// What the tests of accounts/ ask: the accounts of a whole job, and one site in them.
namespace vramtrace::test {

inline accounts::Accounts accounts_of(const EventBuilder& job, const std::vector<uint64_t>& in_flight = {}) {
    VectorSource source(job.events());
    source.edit_status().in_flight = in_flight;
    return accounts::account(source);
}

// The first one with that stack.
inline const accounts::Site& site_at(const accounts::Accounts& numbers, uint32_t stack) {
    for (const accounts::Site& site : numbers.sites) {
        if (site.key.stack == stack) return site;
    }
    FAIL("no site");
    return numbers.sites.front();
}

}  // namespace vramtrace::test
