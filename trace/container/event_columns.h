// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/container/byte_sink.h"
#include "trace/container/recency_list.h"
#include "trace/container/value_column.h"
#include "trace/event.h"

// EVENTS AS COLUMNS, the raw bytes of an Events block:
//
//   varint events │ varint shapes │ column │ column │ …       column: u8 ColumnId │ varint bytes │ bytes
//
// Most of an event is what its call site always says. All that (kind, device, context, names, result, stack, thread,
// which of the other fields are not 0) is its *shape*; a block lists the shapes it meets once, and an event is the
// number of its shape plus what is left: time, address, and a size, object or aux that differs from the last one of
// the same shape.
//
// Addresses are references. Two lists hold the addresses named so far in this block: *open* (allocated, not yet
// released) and *closed*. A release names the n-th most recent open address and moves it to closed, an allocation
// that got the same address again the n-th most recent closed one and moves it to open; only addresses the block does
// not know yet are written out. Which list an explicit address enters is the writer's choice (AddressMode): the
// format knows no kinds. The full description is docs/trace-format.md.
namespace vramtrace::trace {

enum class ColumnId : uint8_t {
    Gaps = 1,    // (varint events before it, varint tickets missing there), only in front of events after a gap
    Times = 2,   // zigzag µs since the event before; the first since 0
    Shapes = 3,  // varint: 0 = the next shape of the list, n = shape n − 1

    // One entry a shape.
    ShapeKinds = 10,     // u8
    ShapeDevices = 11,   // u8
    ShapeContexts = 12,  // varint
    ShapeApis = 13,      // u8
    ShapeLabels = 14,    // u8
    ShapeResults = 15,   // varint
    ShapeStacks = 16,    // zigzag difference to the shape before
    ShapeThreads = 17,   // zigzag difference to the shape before
    ShapeFields = 18,    // u8: bits 0–2 AddressMode, then ShapeField bits

    Ranks = 20,      // varint: n of an address reference, 0 = most recent
    Addresses = 21,  // u8 shift, then zigzag differences of (explicit address >> shift)

    // Values that are not 0; see value_column.h for the two columns of each field.
    SizeCodes = 30,
    SizeValues = 31,
    ObjectCodes = 32,
    ObjectValues = 33,
    AuxCodes = 34,
    AuxValues = 35,
};
constexpr size_t kColumnIds = 36;

enum class AddressMode : uint8_t {
    None = 0,            // 0
    ExplicitOpen = 1,    // written out, enters open
    ExplicitClosed = 2,  // written out, enters closed
    OpenToClosed = 3,    // reference into open
    ClosedToOpen = 4,    // reference into closed
};
constexpr uint8_t kAddressModeMask = 7;
enum ShapeField : uint8_t { kHasSize = 8, kHasObject = 16, kHasAux = 32 };

constexpr uint32_t kMaxBlockEvents = 16384;    // what our writer puts in one block
constexpr uint32_t kMaxReadEvents = 1U << 18;  // what our reader takes in one block

// Everything of an event that its call site repeats. Compared and hashed as three words.
struct Shape {
    uint64_t names = 0;   // kind, device, context, api, label, result, from the lowest byte up
    uint64_t place = 0;   // stack, thread << 32
    uint64_t fields = 0;  // AddressMode and ShapeField
    bool operator==(const Shape&) const = default;
};

class EventEncoder {
public:
    EventEncoder();
    // Events in ticket order, all tickets ≥ first_ticket, at most kMaxBlockEvents. Returns bytes that are valid until
    // the next call.
    std::span<const std::byte> encode(std::span<const Event> events, uint64_t first_ticket);

private:
    struct KnownAddress {
        uint64_t address = 0;
        uint32_t epoch = 0;
        uint32_t entry = 0;
        bool open = false;
    };
    struct KnownShape {
        uint32_t epoch = 0;
        uint32_t index = 0;
    };

    void reset(size_t events);
    AddressMode place_address(const Event& event);
    uint32_t shape_index(const Shape& shape);
    void write_shapes();
    void write_addresses();
    void write_column(ColumnId id);

    ByteSink out_;
    ByteSink columns_[kColumnIds];
    std::vector<KnownAddress> addresses_;
    std::vector<KnownShape> shape_slots_;
    std::vector<Shape> shapes_;
    std::vector<uint64_t> explicit_;
    RecencyList open_, closed_;
    ValueEncoder sizes_, objects_, auxes_;
    uint32_t epoch_ = 0;
};

class EventDecoder {
public:
    // Appends the block's events to `events`; false if the bytes contradict themselves (then nothing is appended).
    bool decode(std::span<const std::byte> raw, uint64_t first_ticket, uint32_t ticket_count,
                std::vector<Event>& events);

private:
    bool read_shapes(std::span<const std::byte>* columns, uint64_t count);

    std::vector<Event> shapes_;
    std::vector<uint8_t> fields_;
    std::vector<uint64_t> open_addresses_, closed_addresses_;
    RecencyList open_, closed_;
    ValueDecoder sizes_, objects_, auxes_;
};

}  // namespace vramtrace::trace
