// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/segments.h"

#include <algorithm>

namespace vramtrace::replay {
namespace {

bool holds_blocks(Kind kind) {
    switch (kind) {
        case Kind::DeviceMemory:
        case Kind::ManagedMemory:
        case Kind::PoolMemory:
        case Kind::GraphMemory:
        case Kind::HostMemory:
        case Kind::RegisteredMemory:
            return true;
        default:
            return false;
    }
}

bool is_host(Kind kind) {
    return kind == Kind::HostMemory || kind == Kind::RegisteredMemory || kind == Kind::PhysicalHost;
}

void add_flags(Allocation& allocation, unsigned flags) {
    allocation.flags = static_cast<uint8_t>(allocation.flags | flags);
}

template <typename Map>
auto containing(Map& map, uint64_t address) {
    auto place = map.upper_bound(address);
    return place == map.begin() ? map.end() : std::prev(place);
}

}  // namespace

void Segments::activate() {
    if (active_) return;
    active_ = true;
    core_.live().for_each([this](Allocation& allocation) { begin(allocation); });
}

void Segments::begin(Allocation& memory) {
    if (!active_) return;
    if (holds_blocks(memory.kind) && memory.bytes > 0) memory_[memory.address] = &memory;
    if (memory.kind == Kind::AddressRange && memory.bytes > 0) {
        reservations_[memory.address] = Reservation{};
        reservations_[memory.address].allocation = &memory;
    }
}

Segments::Reservation* Segments::reservation_of(uint64_t address) {
    const auto place = containing(reservations_, address);
    if (place == reservations_.end() || address - place->first >= place->second.allocation->bytes) return nullptr;
    return &place->second;
}

Home Segments::home(uint64_t address) const {
    Home home;
    const auto place = containing(memory_, address);
    if (place != memory_.end() && address - place->first < place->second->bytes) {
        home.segment = place->second;
        home.memory = true;
        home.host = is_host(home.segment->kind);
        home.small = home.segment->bytes <= kSmallSegment;
        home.device = home.segment->device;
        return home;
    }
    const auto piece = containing(virtual_memory_.mappings(), address);
    if (piece == virtual_memory_.mappings().end() || address - piece->first >= piece->second.bytes) return home;
    const Allocation* handle = piece->second.memory.get(core_.live());
    home.mapped = true;
    home.small = piece->second.bytes <= kSmallSegment;
    if (handle != nullptr) {
        home.memory = handle->kind == Kind::Physical || handle->kind == Kind::PhysicalHost;
        home.host = is_host(handle->kind);
        home.device = handle->device;
    }
    const auto range = containing(reservations_, address);
    if (range != reservations_.end() && address - range->first < range->second.allocation->bytes) {
        home.segment = range->second.allocation;
        if (range->second.claimed) home.small = range->second.small;
    }
    return home;
}

bool Segments::bounds(const Allocation& block, uint64_t& begin, uint64_t& end) const {
    const auto place = containing(memory_, block.address);
    if (place == memory_.end() || place->second->id != block.object) return false;
    begin = place->first;
    end = bounded_end(begin, place->second->bytes);
    return true;
}

void Segments::claim(Home& home, Moment now) {
    if (home.segment == nullptr || (home.segment->flags & kSegment) != 0) return;
    add_flags(*home.segment, kSegment | (home.small ? unsigned{kSmallPool} : 0U));
    if (home.mapped) {
        Reservation& reservation = reservations_[home.segment->address];
        reservation.host = home.host;
        reservation.small = home.small;
        reservation.device = home.device;
        claim_reservation(reservation);
        return tell_mapped(reservation, static_cast<int64_t>(reservation.mapped), now);
    }
    SegmentChange change;
    change.device = home.device;
    change.host = home.host;
    change.small = home.small;
    change.bytes = static_cast<int64_t>(home.segment->bytes);
    change.segments = 1;
    change.moment = now;
    tell(change);
}

void Segments::claim_reservation(Reservation& reservation) {
    const Allocation& range = *reservation.allocation;
    reservation.claimed = true;
    reservation.mapped = mapped_in(range.address, range.bytes);
    mark_handles(range.address, range.bytes);
}

uint64_t Segments::mapped_in(uint64_t address, uint64_t bytes) const {
    const uint64_t end = bounded_end(address, bytes);
    const auto& mappings = virtual_memory_.mappings();
    auto piece = containing(mappings, address);
    if (piece == mappings.end()) piece = mappings.lower_bound(address);
    uint64_t sum = 0;
    for (; piece != mappings.end() && piece->first < end; ++piece) {
        const uint64_t from = std::max(piece->first, address);
        const uint64_t to = std::min(bounded_end(piece->first, piece->second.bytes), end);
        if (to > from) sum += to - from;
    }
    return sum;
}

void Segments::mark_handles(uint64_t address, uint64_t bytes) {
    const auto& mappings = virtual_memory_.mappings();
    for (auto piece = mappings.lower_bound(address);
         piece != mappings.end() && piece->first < bounded_end(address, bytes); ++piece) {
        if (Allocation* handle = piece->second.memory.get(core_.live())) add_flags(*handle, kSegment);
    }
}

void Segments::mapped(const trace::Event& event, uint64_t before, Moment now) {
    Reservation* reservation = active_ ? reservation_of(event.address) : nullptr;
    if (reservation == nullptr || !reservation->claimed) return;
    const uint64_t after = mapped_in(event.address, event.size);
    if (after >= before) {
        mark_handles(event.address, event.size);
        const uint64_t more = after - before;
        const uint64_t back = std::min(more, reservation->offloaded);
        reservation->mapped += more;
        reservation->offloaded -= back;
        return tell_mapped(*reservation, static_cast<int64_t>(more - back), now);
    }
    const uint64_t fewer = before - after;
    bool under_blocks = false;
    blocks_.overlapping(event.address, event.size, [&](const Allocation&) { under_blocks = true; });
    reservation->mapped -= std::min(fewer, reservation->mapped);
    if (under_blocks) {
        reservation->offloaded += fewer;
    } else {
        tell_mapped(*reservation, -static_cast<int64_t>(fewer), now);
    }
    core_.on_refusal(
        [this, fewer, under_blocks, now, start = reservation->allocation->address, id = reservation->allocation->id] {
            const auto place = reservations_.find(start);
            if (place == reservations_.end() || place->second.allocation->id != id) return;
            place->second.mapped += fewer;
            if (under_blocks) {
                place->second.offloaded -= std::min(fewer, place->second.offloaded);
            } else {
                tell_mapped(place->second, static_cast<int64_t>(fewer), now, true);
            }
        });
}

void Segments::end(const Allocation& memory, Moment now) {
    if (!active_) return;
    if (memory.kind == Kind::AddressRange) {
        const auto place = reservations_.find(memory.address);
        if (place == reservations_.end() || place->second.allocation != &memory) return;
        const Reservation ended = place->second;
        reservations_.erase(place);
        if (ended.claimed) tell_mapped(ended, -static_cast<int64_t>(ended.mapped + ended.offloaded), now);
        return;
    }
    const auto place = memory_.find(memory.address);
    if (place == memory_.end() || place->second != &memory) return;
    memory_.erase(place);
    if ((memory.flags & kSegment) == 0) return;
    const Split split = blocks_.split_in(memory.address, bounded_end(memory.address, memory.bytes));
    tell({memory.device, is_host(memory.kind), (memory.flags & kSmallPool) != 0, -static_cast<int64_t>(memory.bytes),
          -1, static_cast<int64_t>(0 - static_cast<uint64_t>(split.bytes)), -split.pieces, now, false});
}

void Segments::restore(Allocation& memory, Moment now) {
    if (!active_) return;
    begin(memory);
    if ((memory.flags & kSegment) == 0) return;
    const bool small = (memory.flags & kSmallPool) != 0;
    if (memory.kind == Kind::AddressRange) {
        Reservation& reservation = reservations_[memory.address];
        const Home home = this->home(memory.address);
        reservation.host = home.host;
        reservation.device = home.device;
        reservation.small = small;
        claim_reservation(reservation);
        return tell_mapped(reservation, static_cast<int64_t>(reservation.mapped), now, true);
    }
    if (!holds_blocks(memory.kind)) return;
    const Split split = blocks_.split_in(memory.address, bounded_end(memory.address, memory.bytes));
    tell({memory.device, is_host(memory.kind), small, static_cast<int64_t>(memory.bytes), 1, split.bytes, split.pieces,
          now, true});
}

void Segments::tell_mapped(const Reservation& reservation, int64_t bytes, Moment now, bool taken_back) {
    if (bytes == 0) return;
    tell({reservation.device, reservation.host, reservation.small, bytes, 0, 0, 0, now, taken_back});
}

void Segments::tell(const SegmentChange& change) {
    for (Observer* observer : core_.observers()) observer->on_segment(change);
}

uint64_t Segments::offloaded(uint8_t device) const {
    uint64_t sum = 0;
    for (const auto& [address, reservation] : reservations_) {
        if (reservation.device == device && !reservation.host) sum += reservation.offloaded;
    }
    return sum;
}

}  // namespace vramtrace::replay
