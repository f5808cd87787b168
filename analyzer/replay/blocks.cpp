// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/blocks.h"

#include <algorithm>

namespace vramtrace::replay {

void SelfCheck::compare(uint64_t framework, uint64_t ours, Moment now) {
    const auto difference = static_cast<int64_t>(framework - ours);
    if (compared++ == 0) at_begin = difference;
    if (difference != 0) ++differing;
    if (difference != at_begin && changed++ == 0) first = now;
    last = difference;
    said = framework;
    said_peak = std::max(said_peak, framework);
}

void Blocks::allocate(const trace::Event& event) {
    if (event.address == 0) return;
    segments_.activate();
    close_overlapped(event);
    Home home = segments_.home(event.address);
    const bool said = event.device != trace::kNoDevice;
    if (!said && !home.memory) {
        ++outside_.allocated_count;
        outside_.allocated_bytes += event.size;
        ++outside_.live_count;
        outside_.live_bytes += event.size;
        outside_.peak_bytes = std::max(outside_.peak_bytes, outside_.live_bytes);
        outside_live_[event.address] = event.size;
        return;
    }
    segments_.claim(home, now_);
    Allocation made = core_.made_by(event, home.host ? Kind::HostBlock : Kind::Block);
    if (!said) made.device = home.device;
    made.address = event.address;
    made.bytes = event.size;
    made.object = home.segment != nullptr ? home.segment->id : 0;
    const bool small = home.segment != nullptr ? home.small : event.size <= kSmallBlock;
    made.flags = static_cast<uint8_t>((small ? kSmallPool : 0) | (said ? kDeviceSaid : 0));
    core_.allocate(made, event);
    check(event);
}

// Of blocks that overlap, the end of the older one was lost. The same address is seen to by Core.
void Blocks::close_overlapped(const trace::Event& event) {
    free_elsewhere(event.address);
    std::vector<Allocation*> lost;
    map_.overlapping(event.address, event.size, [&](Allocation& block) {
        if (block.address != event.address) lost.push_back(&block);
    });
    for (Allocation* block : lost) {
        ++core_.oddities().lost_frees;
        core_.end(block, Ending::LostFree, event);
    }
}

bool Blocks::free_elsewhere(uint64_t address) {
    if (const auto orphan = orphans_.find(address); orphan != orphans_.end()) {
        if (orphan->second.device_said) states_[orphan->second.device].said_live -= orphan->second.bytes;
        orphans_.erase(orphan);
        return true;
    }
    const auto outside = outside_live_.find(address);
    if (outside == outside_live_.end()) return false;
    --outside_.live_count;
    outside_.live_bytes -= outside->second;
    outside_live_.erase(outside);
    return true;
}

void Blocks::free(const trace::Event& event) {
    if (event.address == 0) return;
    segments_.activate();
    if (Allocation* block = core_.live().find(Space::Block, event.address)) {
        core_.end(block, Ending::Freed, event);
    } else if (!free_elsewhere(event.address)) {
        core_.unmatched_release(event);
    }
    check(event);
}

void Blocks::check(const trace::Event& event) {
    if (event.device == trace::kNoDevice || (event.object == 0 && event.aux == 0)) return;
    BlockState& state = states_[event.device];
    state.allocated.compare(event.object, state.said_live, now_);
    state.reserved.compare(event.aux, reserved_[event.device], now_);
}

uint64_t Blocks::mapped_before(const trace::Event& event) const {
    return segments_.active() ? segments_.mapped_in(event.address, event.size) : 0;
}

void Blocks::mapped(const trace::Event& event, uint64_t before) {
    if (!segments_.active()) return;
    segments_.mapped(event, before, now_);
    if (event.kind == trace::EventKind::Map) {
        map_.overlapping(event.address, event.size, [this](Allocation& block) {
            if ((block.flags & kOffloaded) != 0 && segments_.mapped_in(block.address, block.bytes) == block.bytes) {
                set_offloaded(block, false);
            }
        });
        return;
    }
    std::vector<Reference> offloaded;
    map_.overlapping(event.address, event.size, [&](Allocation& block) {
        if ((block.flags & kOffloaded) != 0 || segments_.mapped_in(block.address, block.bytes) == block.bytes) return;
        set_offloaded(block, true);
        offloaded.emplace_back(&block);
    });
    if (offloaded.empty()) return;
    core_.on_refusal([this, offloaded = std::move(offloaded)] {
        for (const Reference& reference : offloaded) {
            if (Allocation* block = reference.get(core_.live())) set_offloaded(*block, false);
        }
    });
}

void Blocks::set_offloaded(Allocation& block, bool offloaded) {
    if (((block.flags & kOffloaded) != 0) == offloaded) return;
    BlockState& of = state(block);
    if (offloaded) {
        block.flags = static_cast<uint8_t>(block.flags | kOffloaded);
        ++of.offloaded_count, of.offloaded_bytes += block.bytes;
    } else {
        block.flags = static_cast<uint8_t>(block.flags & ~kOffloaded);
        --of.offloaded_count, of.offloaded_bytes -= block.bytes;
    }
}

void Blocks::settle(const trace::Event& event) {
    if (gone_.empty()) return;
    std::vector<Allocation*> orphans;
    for (const Gone& gone : gone_) {
        orphans.clear();
        map_.overlapping(gone.address, gone.bytes, [&](Allocation& block) {
            if (block.object == gone.segment) orphans.push_back(&block);
        });
        for (Allocation* block : orphans) core_.end(block, gone.ending, event);
    }
    gone_.clear();
}

void Blocks::tell(const Allocation& block, bool begins, Moment now, bool taken_back) {
    BlockChange change;
    change.block = &block;
    change.begins = begins;
    change.moment = now;
    change.taken_back = taken_back;
    uint64_t begin = 0;
    uint64_t end = 0;
    if (segments_.bounds(block, begin, end)) {
        const Split split = map_.split_by(block, begin, end);
        change.split_bytes = begins ? split.bytes : static_cast<int64_t>(0 - static_cast<uint64_t>(split.bytes));
        change.split_pieces = begins ? split.pieces : -split.pieces;
    }
    for (Observer* observer : core_.observers()) observer->on_block(change);
}

void Blocks::on_allocate(const Allocation& allocation) {
    if (!segments_.active()) return;
    auto& made = const_cast<Allocation&>(allocation);
    if (!is_block(allocation.kind)) return segments_.begin(made);
    map_.insert(&made);
    if ((allocation.flags & kDeviceSaid) != 0) {
        states_[allocation.device].said_live += allocation.bytes;
        states_[allocation.device].device_said = true;
    }
    tell(allocation, true, now_);
}

void Blocks::on_release(const Allocation& allocation, const Release& release) {
    if (!segments_.active()) return;
    if (!is_block(allocation.kind)) {
        segments_.end(allocation, release.moment);
        if ((allocation.flags & kSegment) != 0 && allocation.address != 0) {
            const bool by_context = release.ending == Ending::ContextEnded;
            gone_.push_back({allocation.id, allocation.address, allocation.bytes,
                             by_context ? Ending::ContextEnded : Ending::SegmentEnded});
        }
        return;
    }
    auto& ended = const_cast<Allocation&>(allocation);
    set_offloaded(ended, false);
    tell(allocation, false, release.moment);
    map_.erase(&allocation);
    const bool said = (allocation.flags & kDeviceSaid) != 0;
    if (release.ending == Ending::SegmentEnded || release.ending == Ending::ContextEnded) {
        BlockState& of = state(allocation);
        ++of.orphaned_count, of.orphaned_bytes += allocation.bytes;
        orphans_[allocation.address] = {allocation.bytes, allocation.device, said};
    } else if (said) {
        states_[allocation.device].said_live -= allocation.bytes;
    }
}

// Only what ended with its segment can be back: a framework's own free cannot be refused.
void Blocks::on_restore(const Allocation& allocation, const Release&, Moment now) {
    if (!segments_.active()) return;
    auto& back = const_cast<Allocation&>(allocation);
    if (!is_block(allocation.kind)) return segments_.restore(back, now);
    map_.insert(&back);
    BlockState& of = state(allocation);
    --of.orphaned_count, of.orphaned_bytes -= allocation.bytes;
    orphans_.erase(allocation.address);
    tell(allocation, true, now, true);
}

void Blocks::on_segment(const SegmentChange& change) {
    if (!change.host) reserved_[change.device] += static_cast<uint64_t>(change.bytes);
}

}  // namespace vramtrace::replay
