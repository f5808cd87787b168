// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/pools.h"

#include <algorithm>

namespace vramtrace::replay {
namespace {

constexpr uint64_t kReleaseThreshold = 4;  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD

}  // namespace

std::pair<uint8_t, uint64_t> Pools::meant(const trace::Event& event) const {
    const uint64_t pool = event.object != 0 ? event.object : current_[event.device];
    if (pool == 0) return {event.device, 0};
    if (const Allocation* known = core_.live().find(Space::Pool, pool)) {
        return {known->device != trace::kNoDevice ? known->device : event.device, pool};
    }
    // Destroyed, but memory of it is live.
    if (states_.count({event.device, pool}) > 0) return {event.device, pool};
    return {event.device, 0};
}

PoolState& Pools::state(std::pair<uint8_t, uint64_t> key) {
    const auto [place, is_new] = states_.try_emplace(key);
    if (is_new) {
        place->second.device = key.first;
        place->second.pool = key.second;
    }
    return place->second;
}

void Pools::create(const trace::Event& event) {
    Allocation made = core_.made_by(event, Kind::Pool);
    made.object = event.object;
    core_.allocate(made, event);
    state({event.device, event.object}).destroyed = false;
}

void Pools::destroy(const trace::Event& event) {
    Allocation* pool = core_.live().find(Space::Pool, event.object);
    if (pool == nullptr) return core_.unmatched_release(event);
    const std::pair<uint8_t, uint64_t> key{pool->device, event.object};
    core_.end(pool, Ending::Freed, event);
    const PoolState before = state(key);
    std::array<bool, 256> was_current{};
    for (size_t device = 0; device < current_.size(); ++device) {
        was_current[device] = current_[device] == event.object;
        if (was_current[device]) current_[device] = 0;
    }
    state(key).destroyed = true;
    mark_owner(key, true);
    drop_if_gone(key);
    core_.on_refusal([this, key, before, was_current] {
        states_.try_emplace(key, before).first->second.destroyed = false;
        mark_owner(key, false);
        for (size_t device = 0; device < current_.size(); ++device) {
            if (was_current[device]) current_[device] = key.second;
        }
    });
}

void Pools::mark_owner(std::pair<uint8_t, uint64_t> key, bool destroyed) {
    if (state(key).live_count == 0) return;
    core_.live().for_each([&](Allocation& allocation) {
        if (allocation.kind != Kind::PoolMemory || allocation.pool != key.second || allocation.device != key.first)
            return;
        allocation.flags =
            static_cast<uint8_t>(destroyed ? allocation.flags | kOwnerDestroyed : allocation.flags & ~kOwnerDestroyed);
    });
}

void Pools::allocate(const trace::Event& event) {
    const auto [device, pool] = meant(event);
    Allocation made = core_.made_by(event, Kind::PoolMemory);
    made.device = device;
    made.address = event.address;
    made.bytes = event.size;
    made.pool = pool;
    core_.allocate(made, event);
}

void Pools::import_pointer(const trace::Event& event) {
    Allocation made = core_.made_by(event, Kind::ImportedPointer);
    made.address = event.address;
    made.bytes = event.size;
    made.pool = event.object;
    core_.allocate(made, event);
}

void Pools::set_current(const trace::Event& event) {
    current_[event.device] = event.object;
}

void Pools::set_attribute(const trace::Event& event) {
    if (event.aux == kReleaseThreshold) state(meant(event)).release_threshold = event.size;
}

void Pools::sample(const trace::Event& event) {
    PoolState& pool = state(meant(event));
    pool.last =
        PoolSample{pool.pool, pool.device, {event.sequence, event.time}, event.size, event.aux, pool.live_bytes};
    pool.peak_reserved = std::max(pool.peak_reserved, event.size);
    for (Observer* observer : core_.observers()) observer->on_pool_sample(*pool.last);
}

void Pools::on_allocate(const Allocation& allocation) {
    if (allocation.kind != Kind::PoolMemory) return;
    PoolState& pool = state({allocation.device, allocation.pool});
    ++pool.live_count;
    pool.live_bytes += allocation.bytes;
    pool.peak_live_bytes = std::max(pool.peak_live_bytes, pool.live_bytes);
}

void Pools::on_release(const Allocation& allocation, const Release&) {
    if (allocation.kind != Kind::PoolMemory) return;
    const std::pair<uint8_t, uint64_t> key{allocation.device, allocation.pool};
    PoolState& pool = state(key);
    --pool.live_count;
    pool.live_bytes -= allocation.bytes;
    drop_if_gone(key);
}

void Pools::on_restore(const Allocation& allocation, const Release&, Moment) {
    if (allocation.kind != Kind::PoolMemory) return;
    PoolState& pool = state({allocation.device, allocation.pool});
    ++pool.live_count;
    pool.live_bytes += allocation.bytes;
    if ((allocation.flags & kOwnerDestroyed) != 0) pool.destroyed = true;
}

void Pools::drop_if_gone(std::pair<uint8_t, uint64_t> key) {
    const auto place = states_.find(key);
    if (place != states_.end() && place->second.destroyed && place->second.live_count == 0) states_.erase(place);
}

}  // namespace vramtrace::replay
