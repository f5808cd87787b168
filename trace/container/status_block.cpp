// SPDX-License-Identifier: Apache-2.0
#include "trace/container/status_block.h"

#include <cerrno>
#include <cstring>

#include "trace/bounded_cursor.h"

namespace vramtrace::trace {
namespace {

bool read_status(BoundedCursor& in, StatusRecord& record) {
    const uint64_t counters = in.varint();
    if (counters > in.left()) return false;
    for (uint64_t i = 0; i < counters; ++i) {
        const uint64_t count = in.varint();
        if (i < kLossCounters) record.losses[i] = count;
    }
    const uint64_t notes = in.varint();
    if (notes > in.left()) return false;
    for (uint64_t i = 0; i < notes; ++i) {
        const auto text = in.bytes(in.varint());
        record.notes.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
    }
    record.missing_tickets = in.varint();
    record.first_loss_time = in.varint();
    return in.ok();
}

}  // namespace

void encode(const StatusRecord& record, ByteSink& out) {
    out.varint(kLossCounters);
    for (const uint64_t count : record.losses) out.varint(count);
    out.varint(record.notes.size());
    for (const std::string& note : record.notes) {
        out.varint(note.size());
        out.append(std::as_bytes(std::span(note)));
    }
    out.varint(record.missing_tickets);
    out.varint(record.first_loss_time);
}

void encode(const EndRecord& record, ByteSink& out) {
    out.u8(static_cast<uint8_t>(record.end));
    out.zigzag(record.value);
    out.varint(record.time);
    encode(record.status, out);
    out.varint(record.in_flight.size());
    for (const uint64_t ticket : record.in_flight) out.varint(ticket);
}

std::string no_room_sentence(int error) {
    if (error == 0) return "";
    std::string why = std::strerror(error);
    if (error == EDQUOT) why = "VRAMTRACE_DISK_LIMIT was reached";
    if (error == ENOSPC) why = "the disk was full, or as full as VRAMTRACE_DISK_FLOOR allows";
    if (error == EFBIG) why = "its limit on file sizes (ulimit -f) was reached";
    return "The job could not make more room for events that waited to be collected: " + why + ".";
}

bool decode(std::span<const std::byte> raw, StatusRecord& record) {
    record = {};
    BoundedCursor in(raw);
    return read_status(in, record);
}

bool decode(std::span<const std::byte> raw, EndRecord& record) {
    record = {};
    BoundedCursor in(raw);
    const uint8_t end = in.u8();
    // A way to end that a later version knows is, to this one, an unknown one.
    record.end = end <= static_cast<uint8_t>(SourceStatus::End::Vanished) ? static_cast<SourceStatus::End>(end)
                                                                          : SourceStatus::End::Unknown;
    record.value = static_cast<int>(in.zigzag());
    record.time = in.varint();
    if (!read_status(in, record.status)) return false;
    const uint64_t count = in.varint();
    if (count > in.left()) return false;
    for (uint64_t i = 0; i < count; ++i) record.in_flight.push_back(in.varint());
    return in.ok();
}

}  // namespace vramtrace::trace
