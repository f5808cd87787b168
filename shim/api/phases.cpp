// SPDX-License-Identifier: Apache-2.0
#include "shim/api/phases.h"

#include <atomic>
#include <cstring>

#include "shim/api/early_ranges.h"
#include "shim/record/recorder.h"

namespace vramtrace::shim {

namespace {

using trace::EventKind;

// In .data on purpose: a fork's child counts on, so that no id of its parent names something else in it.
constinit std::atomic<uint64_t> last_id{0};

trace::Event event_of(EventKind kind, uint64_t domain, Origin origin) {
    trace::Event event;
    event.kind = kind;
    event.address = domain;
    event.size = static_cast<uint64_t>(origin);
    return event;
}

uint64_t define_name(const PhaseName& name) {
    return define(trace::DefinitionKind::String, name.text, name.bytes);
}

void write(trace::Event& event) {
    record(event, OpensRing::No, WithStack::No);
}

}  // namespace

void take_name(PhaseName& to, const char* text) {
    if (text == nullptr || *text == '\0') text = "(unnamed)";
    size_t bytes = strnlen(text, kPhaseNameBytes + 1);
    if (bytes > kPhaseNameBytes) {
        bytes = kPhaseNameBytes;
        while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;  // inside a character
        if (bytes == 0) bytes = kPhaseNameBytes;
    }
    std::memcpy(to.text, text, bytes);
    to.text[bytes] = '\0';
    to.bytes = static_cast<uint32_t>(bytes);
}

void begin_range(const PhaseName& name, uint64_t id, uint64_t domain, Origin origin) {
    if (!recording()) {
        set_first_events_callback(tell_early_ranges);
        keep_early_range(name, id, domain, origin);
        // The trace may have been opened meanwhile, by a thread that did not see it yet.
        if (recording()) tell_early_ranges();
        return;
    }
    if (early_ranges_kept()) tell_early_ranges();
    trace::Event event = event_of(EventKind::RangeBegin, domain, origin);
    event.object = id;
    event.aux = define_name(name);
    write(event);
}

void end_range(uint64_t id, uint64_t domain, Origin origin) {
    if (early_ranges_kept() || !recording()) {
        if (drop_early_range(id, domain, origin) || !recording()) return;
    }
    trace::Event event = event_of(EventKind::RangeEnd, domain, origin);
    event.object = id;
    write(event);
}

void mark(const PhaseName& name, uint64_t domain, Origin origin) {
    if (!recording()) return;
    trace::Event event = event_of(EventKind::Mark, domain, origin);
    event.aux = define_name(name);
    write(event);
}

uint64_t new_range_id() {
    return last_id.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace vramtrace::shim
