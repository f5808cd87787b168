// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/accounts/threads.h"
#include "analyzer/replay/live_set.h"

namespace vramtrace::accounts {

// What is live now, grouped by site; sites with nothing but releases in flight are listed too.
std::vector<Leak> live_by_site(const replay::LiveSet& live, const Threads& threads, const std::vector<Site>& sites);

}  // namespace vramtrace::accounts
