// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/accounts/at_exit.h"
#include "analyzer/accounts/phase_cut.h"
#include "analyzer/accounts/threads.h"
#include "analyzer/replay/live_set.h"

namespace vramtrace::accounts {

// With a cut only what was born in it. What is live now or was left at exit, grouped by site; sites with nothing but releases in flight are listed too.
std::vector<Leak> left_by_site(const replay::LiveSet& live, const AtExit& at_exit, const Threads& threads,
                               const std::vector<Site>& sites, const PhaseCut* cut = nullptr);

}  // namespace vramtrace::accounts
