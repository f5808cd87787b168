// SPDX-License-Identifier: Apache-2.0
#include "trace/bounded_cursor.h"
#include "trace/container/event_columns.h"

namespace vramtrace::trace {
namespace {

using Columns = std::span<const std::byte>*;

std::span<const std::byte> column_of(Columns columns, ColumnId id) {
    return columns[static_cast<size_t>(id)];
}

}  // namespace

bool EventDecoder::read_shapes(Columns columns, uint64_t count) {
    BoundedCursor kinds(column_of(columns, ColumnId::ShapeKinds));
    BoundedCursor devices(column_of(columns, ColumnId::ShapeDevices));
    BoundedCursor contexts(column_of(columns, ColumnId::ShapeContexts));
    BoundedCursor apis(column_of(columns, ColumnId::ShapeApis));
    BoundedCursor labels(column_of(columns, ColumnId::ShapeLabels));
    BoundedCursor results(column_of(columns, ColumnId::ShapeResults));
    BoundedCursor stacks(column_of(columns, ColumnId::ShapeStacks));
    BoundedCursor threads(column_of(columns, ColumnId::ShapeThreads));
    BoundedCursor fields(column_of(columns, ColumnId::ShapeFields));
    if (count > kinds.left()) return false;  // each shape has its byte there
    shapes_.clear();
    fields_.clear();
    Event last;
    last.stack = last.thread = 0;
    for (uint64_t i = 0; i < count; ++i) {
        last.kind = static_cast<EventKind>(kinds.u8());
        last.device = devices.u8();
        last.context = static_cast<uint16_t>(contexts.varint());
        last.api = apis.u8();
        last.label = labels.u8();
        last.result = static_cast<uint16_t>(results.varint());
        last.stack = static_cast<uint32_t>(last.stack + stacks.zigzag());
        last.thread = static_cast<uint32_t>(last.thread + threads.zigzag());
        shapes_.push_back(last);
        fields_.push_back(fields.u8());
    }
    return kinds.ok() && devices.ok() && contexts.ok() && apis.ok() && labels.ok() && results.ok() && stacks.ok() &&
           threads.ok() && fields.ok();
}

bool EventDecoder::decode(std::span<const std::byte> raw, uint64_t first_ticket, uint32_t ticket_count,
                          std::vector<Event>& events) {
    BoundedCursor in(raw);
    const uint64_t count = in.varint();
    const uint64_t shape_count = in.varint();
    std::span<const std::byte> columns[kColumnIds] = {};
    while (in.ok() && in.left() > 0) {
        const uint8_t id = in.u8();
        const auto bytes = in.bytes(in.varint());
        if (id < kColumnIds) columns[id] = bytes;  // others: a later minor version's, passed over
    }
    const auto times_bytes = column_of(columns, ColumnId::Times);
    // Each event has at least one byte in the times: that bounds the count by bytes that are really there.
    if (!in.ok() || count > times_bytes.size() || count > kMaxReadEvents || count > ticket_count) return false;
    if (!read_shapes(columns, shape_count)) return false;

    BoundedCursor gaps(column_of(columns, ColumnId::Gaps));
    BoundedCursor times(times_bytes);
    BoundedCursor shape_indices(column_of(columns, ColumnId::Shapes));
    BoundedCursor ranks(column_of(columns, ColumnId::Ranks));
    BoundedCursor addresses(column_of(columns, ColumnId::Addresses));
    BoundedCursor size_codes(column_of(columns, ColumnId::SizeCodes));
    BoundedCursor size_values(column_of(columns, ColumnId::SizeValues));
    BoundedCursor object_codes(column_of(columns, ColumnId::ObjectCodes));
    BoundedCursor object_values(column_of(columns, ColumnId::ObjectValues));
    BoundedCursor aux_codes(column_of(columns, ColumnId::AuxCodes));
    BoundedCursor aux_values(column_of(columns, ColumnId::AuxValues));

    const unsigned shift = addresses.left() > 0 ? addresses.u8() : 0;
    if (shift > 63) return false;
    open_addresses_.clear();
    closed_addresses_.clear();
    open_.reset(count);
    closed_.reset(count);
    sizes_.reset(shapes_.size());
    objects_.reset(shapes_.size());
    auxes_.reset(shapes_.size());

    const auto enter = [](RecencyList& list, std::vector<uint64_t>& values, uint64_t address) {
        list.enter();
        values.push_back(address);
    };
    const size_t before = events.size();
    const auto failed = [&] {
        events.resize(before);
        return false;
    };
    uint64_t next_gap = gaps.left() > 0 ? gaps.varint() : ~0ULL;
    uint64_t since_gap = 0;
    uint64_t ticket = first_ticket;
    uint64_t time = 0;
    uint64_t explicit_address = 0;
    uint64_t shapes_seen = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t code = shape_indices.varint();
        const uint64_t index = code == 0 ? shapes_seen++ : code - 1;
        if (!shape_indices.ok() || index >= shapes_.size() || index >= shapes_seen) return failed();
        Event event = shapes_[static_cast<size_t>(index)];
        const uint8_t fields = fields_[static_cast<size_t>(index)];
        const auto shape = static_cast<uint32_t>(index);

        if (since_gap == next_gap) {
            const uint64_t missing = gaps.varint();
            if (missing > ticket_count) return failed();
            ticket += missing;
            next_gap = gaps.left() > 0 ? gaps.varint() : ~0ULL;
            since_gap = 0;
        }
        ++since_gap;
        if (ticket - first_ticket >= ticket_count || !gaps.ok()) return failed();
        event.sequence = ticket++;
        time += static_cast<uint64_t>(times.zigzag());
        event.time = time * 1000;

        const auto mode = static_cast<AddressMode>(fields & kAddressModeMask);
        if (mode == AddressMode::ExplicitOpen || mode == AddressMode::ExplicitClosed) {
            explicit_address += static_cast<uint64_t>(addresses.zigzag());
            event.address = explicit_address << shift;
            if (mode == AddressMode::ExplicitOpen) enter(open_, open_addresses_, event.address);
            if (mode == AddressMode::ExplicitClosed) enter(closed_, closed_addresses_, event.address);
        } else if (mode == AddressMode::OpenToClosed || mode == AddressMode::ClosedToOpen) {
            const bool open = mode == AddressMode::OpenToClosed;
            RecencyList& from = open ? open_ : closed_;
            const uint64_t rank = ranks.varint();
            if (rank >= from.count()) return failed();
            const uint32_t entry = from.entry(static_cast<uint32_t>(rank));
            event.address = (open ? open_addresses_ : closed_addresses_)[entry];
            from.leave(entry);
            if (open) enter(closed_, closed_addresses_, event.address);
            if (!open) enter(open_, open_addresses_, event.address);
        } else if (mode != AddressMode::None) {
            return failed();
        }
        if ((fields & kHasSize) != 0 && !sizes_.get(shape, size_codes, size_values, event.size)) return failed();
        if ((fields & kHasObject) != 0 && !objects_.get(shape, object_codes, object_values, event.object))
            return failed();
        if ((fields & kHasAux) != 0 && !auxes_.get(shape, aux_codes, aux_values, event.aux)) return failed();
        events.push_back(event);
    }
    if (!times.ok() || !ranks.ok() || !addresses.ok()) return failed();
    return true;
}

}  // namespace vramtrace::trace
