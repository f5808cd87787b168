// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/definition.h"
#include "trace/event.h"
#include "trace/process_header.h"

// Where events come from, as everything after the reading sees it: a process's trace, or a vector in a test.
namespace vramtrace::trace {

// What could be read and what could not, in words a report can print.
struct SourceStatus {
    ProcessIdentity identity;
    uint64_t losses[kLossCounters] = {};
    uint64_t first_loss_time = 0;       // CLOCK_MONOTONIC ns of the first event lost for want of room, 0 = none known
    uint64_t missing_tickets = 0;       // gaps in the order that no counter explains: never silent
    std::vector<uint64_t> in_flight;    // tickets of releases whose real call had not returned when the process died
    std::vector<std::string> warnings;  // "the last 312 bytes of … are damaged and were left out", …
    bool running = false;               // the process was alive when its trace was read
    // How it ended, as far as anybody could know; see docs/exit-codes.md.
    enum class End : uint8_t { Unknown, Running, Exited, Signalled, Exec, Vanished } end = End::Unknown;
    int end_value = 0;      // exit code or signal number; -1 = not known
    uint64_t end_time = 0;  // CLOCK_MONOTONIC ns, 0 = not known
};

// The definition image with bounds-checked access; every accessor answers "nothing" for a bad or damaged id.
class DefinitionView {
public:
    virtual ~DefinitionView() = default;
    // Body of the record `id` if it is of kind `kind`, committed, inside the image and undamaged; else an empty span.
    virtual std::span<const std::byte> body(DefinitionId id, DefinitionKind kind) const = 0;
    // Calls visit(id, kind, body) for each readable record, in order; damage ends nothing, it is skipped and counted.
    virtual void for_each(
        const std::function<void(DefinitionId, DefinitionKind, std::span<const std::byte>)>& visit) const = 0;
};

class EventSource {
public:
    virtual ~EventSource() = default;
    // Replaces `batch` by the next events in ticket order; false when there are no more. Event::sequence = ticket.
    // Definitions that the batch names are readable once this returns.
    virtual bool next_batch(std::vector<Event>& batch) = 0;
    virtual const DefinitionView& definitions() const = 0;
    // Complete after next_batch has returned false.
    virtual const SourceStatus& status() const = 0;
    // For progress bars: bytes read so far and in all (0 if unknown).
    virtual uint64_t bytes_done() const { return 0; }
    virtual uint64_t bytes_total() const { return 0; }
};

}  // namespace vramtrace::trace
