// SPDX-License-Identifier: Apache-2.0
#include "shim/api/early_ranges.h"

#include <atomic>
#include <cstring>

#include "shim/arena.h"
#include "shim/record/recorder.h"
#include "trace/ring/system_calls.h"

namespace vramtrace::shim {

namespace {

constexpr size_t kPlaces = 128;

enum class State : uint8_t { Free = 0, Filling = 1, Open = 2 };

struct Place {
    std::atomic<State> state;  // release when Open: pairs with the acquire of whoever takes it
    Origin origin;
    uint32_t thread;
    uint64_t order, id, domain, time;
    PhaseName name;
};

struct Places {
    std::atomic<uint64_t> last_order;
    std::atomic<uint32_t> kept;
    Place places[kPlaces];
};

Places* places() {
    return root_object<Places>(RootSlot::Api);
}

Places* places_or_null() {
    std::atomic<void*>* root = root_slot(RootSlot::Api);
    // acquire, pairs with root_object's release.
    return root == nullptr ? nullptr : static_cast<Places*>(root->load(std::memory_order_acquire));
}

uint32_t own_thread() {
    return static_cast<uint32_t>(syscall(SYS_gettid));
}

bool take(Places& all, Place& place) {
    State open = State::Open;
    if (!place.state.compare_exchange_strong(open, State::Filling, std::memory_order_acq_rel)) return false;
    all.kept.fetch_sub(1, std::memory_order_relaxed);
    return true;
}

void give_back(Place& place) {
    place.state.store(State::Free, std::memory_order_release);  // pairs with the acquire in keep_early_range
}

}  // namespace

bool keep_early_range(const PhaseName& name, uint64_t id, uint64_t domain, Origin origin) {
    Places* all = places();
    if (all == nullptr) return false;
    for (Place& place : all->places) {
        State free = State::Free;
        if (place.state.load(std::memory_order_relaxed) != State::Free ||
            !place.state.compare_exchange_strong(free, State::Filling, std::memory_order_acq_rel)) {
            continue;
        }
        place.order = all->last_order.fetch_add(1, std::memory_order_relaxed) + 1;
        place.origin = origin;
        place.thread = own_thread();
        place.id = id;
        place.domain = domain;
        place.time = trace::sys::monotonic_ns();
        std::memcpy(&place.name, &name, sizeof name);
        all->kept.fetch_add(1, std::memory_order_relaxed);
        place.state.store(State::Open, std::memory_order_release);
        return true;
    }
    return false;
}

bool drop_early_range(uint64_t id, uint64_t domain, Origin origin) {
    Places* all = places_or_null();
    if (all == nullptr || all->kept.load(std::memory_order_relaxed) == 0) return false;
    const uint32_t thread = id == 0 ? own_thread() : 0;
    Place* last = nullptr;
    for (Place& place : all->places) {
        if (place.state.load(std::memory_order_acquire) != State::Open) continue;
        if (place.origin != origin || place.id != id) continue;
        if (id == 0 && (place.thread != thread || place.domain != domain)) continue;
        if (last == nullptr || place.order > last->order) last = &place;
    }
    // Lost to a tell_early_ranges at the same moment: then the range is in the trace, and its end belongs there.
    if (last == nullptr || !take(*all, *last)) return false;
    give_back(*last);
    return true;
}

void tell_early_ranges() {
    Places* all = places_or_null();
    if (all == nullptr) return;
    for (uint64_t told = 0; all->kept.load(std::memory_order_relaxed) != 0;) {
        Place* next = nullptr;
        for (Place& place : all->places) {
            if (place.state.load(std::memory_order_acquire) != State::Open || place.order <= told) continue;
            if (next == nullptr || place.order < next->order) next = &place;
        }
        if (next == nullptr) return;
        told = next->order;
        if (!take(*all, *next)) continue;
        trace::Event event;
        event.kind = trace::EventKind::RangeBegin;
        event.aux = define(trace::DefinitionKind::String, next->name.text, next->name.bytes);
        event.object = next->id;
        event.address = next->domain;
        event.size = static_cast<uint64_t>(next->origin);
        event.thread = next->thread;
        event.time = next->time;
        write_first(event);
        give_back(*next);
    }
}

bool early_ranges_kept() {
    const Places* all = places_or_null();
    return all != nullptr && all->kept.load(std::memory_order_relaxed) != 0;
}

}  // namespace vramtrace::shim
