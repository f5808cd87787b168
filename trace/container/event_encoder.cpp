// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "trace/container/event_columns.h"

namespace vramtrace::trace {
namespace {

// Kinds that end what lies at their address. A wrong guess costs bytes, never an event.
bool releases_address(EventKind kind) {
    switch (kind) {
        case EventKind::DeviceFree:
        case EventKind::HostFree:
        case EventKind::HostUnregister:
        case EventKind::PoolFree:
        case EventKind::AddressFree:
        case EventKind::Unmap:
        case EventKind::IpcClose:
        case EventKind::GraphFree:
            return true;
        default:
            return false;
    }
}

uint64_t scattered(uint64_t key) {
    key *= 0x9E3779B97F4A7C15ULL;
    return key ^ (key >> 32);
}

constexpr size_t kTableSlots = size_t{1} << std::bit_width(2 * kMaxBlockEvents - 1);

Shape shape_of(const Event& event, AddressMode mode) {
    Shape shape;
    shape.names = static_cast<uint64_t>(event.kind) | static_cast<uint64_t>(event.device) << 8 |
                  static_cast<uint64_t>(event.context) << 16 | static_cast<uint64_t>(event.api) << 32 |
                  static_cast<uint64_t>(event.label) << 40 | static_cast<uint64_t>(event.result) << 48;
    shape.place = event.stack | static_cast<uint64_t>(event.thread) << 32;
    shape.fields = static_cast<uint64_t>(mode) | (event.size != 0 ? kHasSize : 0) |
                   (event.object != 0 ? kHasObject : 0) | (event.aux != 0 ? kHasAux : 0);
    return shape;
}

}  // namespace

EventEncoder::EventEncoder() : addresses_(kTableSlots), shape_slots_(kTableSlots) {}

void EventEncoder::reset(size_t events) {
    out_.clear();
    for (ByteSink& column : columns_) column.clear();
    shapes_.clear();
    explicit_.clear();
    open_.reset(events);
    closed_.reset(events);
    sizes_.reset();
    objects_.reset();
    auxes_.reset();
    ++epoch_;  // empties both hash tables; 2³² blocks would take years
}

AddressMode EventEncoder::place_address(const Event& event) {
    if (event.address == 0) return AddressMode::None;
    size_t slot = scattered(event.address) & (kTableSlots - 1);
    while (addresses_[slot].epoch == epoch_ && addresses_[slot].address != event.address) {
        slot = (slot + 1) & (kTableSlots - 1);
    }
    KnownAddress& known = addresses_[slot];
    if (known.epoch != epoch_) {
        const bool open = !releases_address(event.kind);
        known = {event.address, epoch_, open ? open_.enter() : closed_.enter(), open};
        explicit_.push_back(event.address);
        return open ? AddressMode::ExplicitOpen : AddressMode::ExplicitClosed;
    }
    RecencyList& from = known.open ? open_ : closed_;
    RecencyList& to = known.open ? closed_ : open_;
    columns_[static_cast<size_t>(ColumnId::Ranks)].varint(from.rank(known.entry));
    from.leave(known.entry);
    known.entry = to.enter();
    known.open = !known.open;
    return known.open ? AddressMode::ClosedToOpen : AddressMode::OpenToClosed;
}

uint32_t EventEncoder::shape_index(const Shape& shape) {
    ByteSink& column = columns_[static_cast<size_t>(ColumnId::Shapes)];
    const uint64_t key = shape.names * 0xC2B2AE3D27D4EB4FULL ^ std::rotl(shape.place, 23) ^ shape.fields << 57;
    size_t slot = scattered(key) & (kTableSlots - 1);
    for (; shape_slots_[slot].epoch == epoch_; slot = (slot + 1) & (kTableSlots - 1)) {
        const uint32_t index = shape_slots_[slot].index;
        if (shapes_[index] == shape) {
            column.varint(index + 1ULL);
            return index;
        }
    }
    column.varint(0);
    const auto index = static_cast<uint32_t>(shapes_.size());
    shape_slots_[slot] = {epoch_, index};
    shapes_.push_back(shape);
    return index;
}

std::span<const std::byte> EventEncoder::encode(std::span<const Event> events, uint64_t first_ticket) {
    reset(events.size());
    const auto column = [this](ColumnId id) -> ByteSink& { return columns_[static_cast<size_t>(id)]; };
    uint64_t expected = first_ticket;
    uint64_t last_time = 0;
    size_t since_gap = 0;
    for (const Event& event : events) {
        if (event.sequence != expected) {
            column(ColumnId::Gaps).varint(since_gap);
            column(ColumnId::Gaps).varint(event.sequence - expected);
            since_gap = 0;
        }
        ++since_gap;
        expected = event.sequence + 1;

        const uint64_t time = event.time / 1000;
        column(ColumnId::Times).difference(time, last_time);
        last_time = time;

        const uint32_t shape = shape_index(shape_of(event, place_address(event)));
        if (event.size != 0) sizes_.put(event.size, shape, column(ColumnId::SizeCodes), column(ColumnId::SizeValues));
        if (event.object != 0) {
            objects_.put(event.object, shape, column(ColumnId::ObjectCodes), column(ColumnId::ObjectValues));
        }
        if (event.aux != 0) auxes_.put(event.aux, shape, column(ColumnId::AuxCodes), column(ColumnId::AuxValues));
    }
    write_shapes();
    write_addresses();
    out_.varint(events.size());
    out_.varint(shapes_.size());
    for (size_t id = 0; id < kColumnIds; ++id) write_column(static_cast<ColumnId>(id));
    return out_.bytes();
}

void EventEncoder::write_shapes() {
    const auto column = [this](ColumnId id) -> ByteSink& { return columns_[static_cast<size_t>(id)]; };
    Shape last;
    for (const Shape& shape : shapes_) {
        column(ColumnId::ShapeKinds).u8(static_cast<uint8_t>(shape.names));
        column(ColumnId::ShapeDevices).u8(static_cast<uint8_t>(shape.names >> 8));
        column(ColumnId::ShapeContexts).varint(static_cast<uint16_t>(shape.names >> 16));
        column(ColumnId::ShapeApis).u8(static_cast<uint8_t>(shape.names >> 32));
        column(ColumnId::ShapeLabels).u8(static_cast<uint8_t>(shape.names >> 40));
        column(ColumnId::ShapeResults).varint(static_cast<uint16_t>(shape.names >> 48));
        column(ColumnId::ShapeStacks).difference(static_cast<uint32_t>(shape.place), static_cast<uint32_t>(last.place));
        column(ColumnId::ShapeThreads).difference(shape.place >> 32, last.place >> 32);
        column(ColumnId::ShapeFields).u8(static_cast<uint8_t>(shape.fields));
        last = shape;
    }
}

void EventEncoder::write_addresses() {
    if (explicit_.empty()) return;
    uint64_t bits = 0;
    for (const uint64_t address : explicit_) bits |= address;
    const int shift = std::countr_zero(bits);  // explicit addresses are not 0
    ByteSink& column = columns_[static_cast<size_t>(ColumnId::Addresses)];
    column.u8(static_cast<uint8_t>(shift));
    uint64_t last = 0;
    for (const uint64_t address : explicit_) {
        column.difference(address >> shift, last);
        last = address >> shift;
    }
}

void EventEncoder::write_column(ColumnId id) {
    const ByteSink& column = columns_[static_cast<size_t>(id)];
    if (column.empty()) return;
    out_.u8(static_cast<uint8_t>(id));
    out_.varint(column.bytes().size());
    out_.append(column.bytes());
}

}  // namespace vramtrace::trace
