// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/container/byte_sink.h"
#include "trace/event_source.h"

// What Status and End blocks hold. Bytes after the known ones belong to a later minor version and are passed over.
//
//   Status: varint n │ n × varint loss counter │ varint m │ m × (varint bytes │ text) │ varint missing tickets │
//           varint first loss time
//   End:    u8 SourceStatus::End │ zigzag value │ varint time │ a Status │ varint k │ k × varint in-flight ticket
namespace vramtrace::trace {

struct StatusRecord {
    uint64_t losses[kLossCounters] = {};  // totals so far; a later block replaces an earlier one
    std::vector<std::string> notes;       // sentences for the report, all of them so far
    uint64_t missing_tickets = 0;         // inside the ranges of Events blocks: lost in a way that no counter explains
    uint64_t first_loss_time = 0;         // CLOCK_MONOTONIC, ns, of the first event lost for want of room; 0 = none
    bool operator==(const StatusRecord&) const = default;
};

struct EndRecord {
    SourceStatus::End end = SourceStatus::End::Unknown;
    int value = -1;     // exit code or signal, −1 = not known
    uint64_t time = 0;  // CLOCK_MONOTONIC, ns: when it was noticed; 0 = not known
    StatusRecord status;
    std::vector<uint64_t> in_flight;
    bool operator==(const EndRecord&) const = default;
};

void encode(const StatusRecord& record, ByteSink& out);
void encode(const EndRecord& record, ByteSink& out);
// False if the bytes end too early or name more than a block can hold.
bool decode(std::span<const std::byte> raw, StatusRecord& record);
bool decode(std::span<const std::byte> raw, EndRecord& record);

// Why a job could not make more room for its events, from RingHeader::append_error; "" for 0.
std::string no_room_sentence(int error);

}  // namespace vramtrace::trace
