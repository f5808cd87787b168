// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/shim/hooks/fake_recorder.h"

#include <stdexcept>

#include "shim/capture/stack_capture.h"
#include "shim/thread_state.h"

FakeRecorder recorder;

using vramtrace::trace::DefinitionKind;
using vramtrace::trace::Event;
using vramtrace::trace::EventKind;

void FakeRecorder::reset() {
    const auto callback = opened;
    *this = FakeRecorder();
    opened = callback;
}

std::vector<EventKind> FakeRecorder::kinds() const {
    std::vector<EventKind> result;
    for (const auto& event : events) result.push_back(event.kind);
    return result;
}

size_t FakeRecorder::count(EventKind kind) const {
    size_t found = 0;
    for (const auto& event : events) found += event.kind == kind;
    return found;
}

Event FakeRecorder::one(EventKind kind) const {
    if (count(kind) != 1) throw std::runtime_error("not exactly one event of kind " + std::to_string(int(kind)));
    for (const auto& event : events)
        if (event.kind == kind) return event;
    return {};
}

namespace vramtrace::shim {

uint64_t record(Event& event, OpensRing opens, WithStack stack) {
    if (!recorder.open) {
        if (opens == OpensRing::No) return kNotRecorded;
        recorder.open = true;
        if (recorder.opened != nullptr) recorder.opened();
    }
    event.label = thread_state.label;
    event.sequence = recorder.events.size();
    recorder.events.push_back(event);
    recorder.stacks.push_back(stack);
    return event.sequence;
}

bool recording() {
    return recorder.open;
}

int in_flight_enter(uint64_t ticket) {
    recorder.in_flight.push_back(ticket);
    return static_cast<int>(recorder.in_flight.size()) - 1;
}

void in_flight_leave(int slot) {
    recorder.in_flight.at(static_cast<size_t>(slot)) = 0;
}

trace::DefinitionId define(DefinitionKind kind, const void* body, uint32_t bytes) {
    if (!recorder.open) return 0;
    const std::string text(static_cast<const char*>(body), bytes);
    for (const auto& [id, known] : recorder.definitions)
        if (known == text && recorder.definition_kinds[id] == kind) return id;
    const auto id = static_cast<uint32_t>(recorder.definitions.size() + 1);
    recorder.definitions[id] = text;
    recorder.definition_kinds[id] = kind;
    return id;
}

void set_opened_callback(void (*callback)()) {
    recorder.opened = callback;
}
void count_loss(trace::Loss) {}
void bump_unload_epoch() {
    ++recorder.unload_epoch;
}

}  // namespace vramtrace::shim
