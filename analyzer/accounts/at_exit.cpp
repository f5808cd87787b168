// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/at_exit.h"

#include "analyzer/replay/replay.h"

namespace vramtrace::accounts {

void AtExit::on_event(const trace::Event& event) {
    if (left_.empty()) return;
    // A destructor that runs after the runtime's own: the program does free it, only too late.
    const auto name = replay::released_name(event);
    if (!name || names_.count(*name) == 0) return;
    forget(*name);
    ++late_frees_;
}

void AtExit::on_context_end(const trace::Event& event) {
    if (moment_) return;
    moment_ = Moment{event.sequence, event.time};
    freeze_();
}

void AtExit::on_allocate(const Allocation& allocation) {
    if (!moment_ || allocation.quantity() == Quantity::Handle || replay::is_block(allocation.kind)) return;
    // The program goes on: that was a reset, and what it ended is over and done with.
    moment_.reset();
    left_.clear();
    names_.clear();
    thaw_();
}

void AtExit::on_release(const Allocation& allocation, const replay::Release& release) {
    if (release.ending != Ending::ContextEnded) return;
    const Name name{replay::space_of(allocation.kind), replay::LiveSet::name_of(allocation)};
    forget(name);
    names_[name] = allocation.id;
    left_[allocation.id] = allocation;
}

void AtExit::on_restore(const Allocation& allocation, const replay::Release&, Moment) {
    const auto kept = left_.find(allocation.id);
    if (kept == left_.end()) return;
    forget({replay::space_of(allocation.kind), replay::LiveSet::name_of(allocation)});
    if (!left_.empty()) return;
    moment_.reset();  // no context ended after all
    thaw_();
}

void AtExit::forget(const Name& name) {
    const auto place = names_.find(name);
    if (place == names_.end()) return;
    left_.erase(place->second);
    names_.erase(place);
}

}  // namespace vramtrace::accounts
