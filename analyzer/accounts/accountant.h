// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/accounts/open_ranges.h"
#include "analyzer/replay/replay.h"
#include "trace/event.h"
#include "trace/event_source.h"

// THE ONLY WAY FROM EVENTS TO NUMBERS. The collector pushes drained batches, the analysis read ones; how events are cut
// into batches changes nothing. Memory grows with what is live and with call sites, not with events.
namespace vramtrace::accounts {

// Names of ranges are looked up by `text`; without it they are "#id". With `phase` the accounts are those of that phase
// alone (phase_cut.h).
struct AccountantOptions {
    OpenRanges::TextOf text;
    std::optional<std::string> phase;
};

class Accountant {
public:
    explicit Accountant(AccountantOptions options = {});
    ~Accountant();
    Accountant(const Accountant&) = delete;
    Accountant& operator=(const Accountant&) = delete;

    void add(std::span<const trace::Event> events);
    // After the last event: releases in flight at the process's death are counted apart. Call once.
    void finish(const trace::SourceStatus& status);
    // The numbers so far; may be asked for at any time (live views), costs O(live + sites).
    Accounts accounts() const;
    // Everything left behind, as Accounts::leaks counts it, in no order. After finish().
    void for_each_left(const std::function<void(const Allocation&)>& visit) const;
    // Of these only the tables of frameworks' allocators at this instant: cheap, for phases and live views.
    std::vector<BlockTable> block_tables() const;
    // The live set behind them, and a place for further observers (exports). Attach before the first add().
    // With a phase, they are told only of births in it, and what becomes of those.
    const replay::Replay& replay() const;
    void attach(replay::Observer& observer);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// Reads a source to its end: add() all, finish().
Accounts account(trace::EventSource& source);

}  // namespace vramtrace::accounts
