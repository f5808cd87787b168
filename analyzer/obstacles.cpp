// SPDX-License-Identifier: Apache-2.0
#include "analyzer/obstacles.h"

#include "analyzer/opaque_arenas.h"
#include "analyzer/print/units.h"

namespace vramtrace {

bool made_memory(const ProcessAnalysis& process) {
    for (const accounts::Total& total : process.accounts.totals) {
        if (total.quantity != accounts::Quantity::Handle && total.allocated.count > 0) return true;
    }
    return process.accounts.failures_total > 0;
}

std::string name_of(const ProcessAnalysis& process) {
    return process.facts.title() + " (pid " + std::to_string(process.status.identity.pid) + ")";
}

std::vector<std::string> obstacles_of(const ProcessAnalysis& process) {
    std::vector<std::string> reasons;
    const std::string who = name_of(process);
    if (const auto until = process.judged_until()) {
        reasons.push_back(who + " lost " + print::counted(process.lost_events(), "event", "events") +
                          (process.accounts.stopped ? " or stopped recording" : "") +
                          ": what they were about cannot be known");
    }
    for (const accounts::TextNote& note : process.accounts.notes) {
        if (note.kind == trace::EventKind::BlindSpot) reasons.push_back(who + ": " + process.text(note.text));
    }
    for (const accounts::Site& site : process.accounts.sites) {
        if (const OpaqueArena arena = opaque_arena(process, site); arena.is_one()) {
            reasons.push_back(who + ": " + arena.sentence());
            break;
        }
    }
    for (const std::string& warning : process.status.warnings) reasons.push_back(who + ": " + warning);
    return reasons;
}

}  // namespace vramtrace
