// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "trace/container/status_block.h"
#include "trace/event.h"
#include "trace/process_header.h"
#include "trace/ring/definition_image.h"

// What tests/data/format-1.0.trace holds, by formula: written once by make_format_1_0.cpp with the first version of
// the format, read by every later one (tests/unit/trace/container/old_formats_test.cpp). Never change it, never write
// it anew.
namespace vramtrace::test::format_1_0 {

constexpr uint64_t kTickets = 3000;  // in blocks of 1,000; every 97th was abandoned
constexpr uint64_t kStrings = 50;

inline trace::ProcessIdentity identity() {
    trace::ProcessIdentity identity;
    identity.pid = 1234;
    identity.parent_pid = 1;
    identity.start_time = 987654;
    identity.pid_namespace = 4026531836;
    identity.open_monotonic = 5'000'000'000;
    identity.open_realtime = 1'700'000'000'000'000'000;
    identity.counter = 2;
    std::strcpy(identity.boot_id, "01234567-89ab-cdef-0123-456789abcdef");
    std::strcpy(identity.host, "node17");
    return identity;
}

inline std::string text(uint64_t string) {
    return "definition " + std::to_string(string * string);
}

inline std::vector<std::byte> image() {
    std::vector<std::byte> image(trace::kFirstRecord);
    for (uint64_t i = 0; i < kStrings; ++i) {
        const std::string body = text(i);
        trace::DefinitionHeader header;
        header.body_bytes = static_cast<uint32_t>(body.size());
        header.kind = trace::DefinitionKind::String;
        header.commit = trace::kDefinitionCommitted;
        header.hash = trace::definition_hash(body.data(), body.size());
        const size_t at = image.size();
        image.resize(at + trace::record_bytes(header.body_bytes));
        std::memcpy(&image[at], &header, sizeof(header));
        std::memcpy(&image[at + sizeof(header)], body.data(), body.size());
    }
    return image;
}

inline bool abandoned(uint64_t ticket) {
    return ticket % 97 == 96;
}

// Allocations of seven at a time, then their releases; now and then something of every other kind, later ones included.
inline trace::Event event(uint64_t ticket) {
    trace::Event event;
    event.sequence = ticket;
    event.time = 5'000'000'000 + ticket * 7'000 - ticket % 3 * 9'000;  // not quite in order
    event.device = static_cast<uint8_t>(ticket / 1500);
    event.context = static_cast<uint16_t>(1 + ticket / 1500);
    event.thread = 1234 + static_cast<uint32_t>(ticket % 4);
    event.stack = static_cast<uint32_t>(1 + ticket % 14 * 3);
    event.api = static_cast<uint8_t>(ticket % 14 < 7 ? 11 : 12);
    event.label = static_cast<uint8_t>(ticket % 2);
    event.kind = ticket % 14 < 7 ? trace::EventKind::DeviceAlloc : trace::EventKind::DeviceFree;
    event.address = 0x7f5500000000 + (ticket / 14 % 5 * 7 + ticket % 7) * 0x200000;
    event.size = ticket % 14 < 7 ? 1000 + ticket % 14 * 4096 + ticket % 5 : 0;
    if (ticket % 50 == 49) {
        event.kind = static_cast<trace::EventKind>(ticket / 50 * 5);
        event.object = 0x55aa00000000 + ticket;
        event.aux = ~ticket;
        event.result = static_cast<uint16_t>(ticket);
    }
    return event;
}

inline trace::EndRecord end() {
    trace::EndRecord end;
    end.end = trace::SourceStatus::End::Vanished;
    end.time = 6'000'000'000;
    for (size_t i = 0; i < trace::kLossCounters; ++i) end.status.losses[i] = i * 1000;
    end.status.notes = {"A note of the collector."};
    end.status.missing_tickets = 5;
    end.status.first_loss_time = 5'500'000'000;
    end.in_flight = {17, 2990};
    return end;
}

}  // namespace vramtrace::test::format_1_0
