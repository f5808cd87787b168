// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "trace/definition.h"
#include "trace/event.h"
#include "trace/process_header.h"

// THE ONE DOOR from the hooks to the trace. Never blocks for long, never allocates from the job's heap, never throws;
// whatever goes wrong is counted (trace/process_header.h Loss) and the job goes on.
namespace vramtrace::shim {

enum class OpensRing : bool { No = false, Yes = true };
enum class WithStack : bool { No = false, Yes = true };

constexpr uint64_t kNotRecorded = ~0ULL;

// Fills in time, thread, stack and label (from thread_state) and writes the slot; the caller fills the rest. Returns the
// event's ticket or kNotRecorded. Opens the ring and starts the collector at the first event that may do so: successful
// driver allocations, context events and failed allocations do (OpensRing::Yes); others are dropped until then without
// a loss, because there was nothing they could belong to.
uint64_t record(trace::Event& event, OpensRing opens, WithStack stack = WithStack::Yes);

// True once a ring is open in this process (not in a fork's child that has not opened its own). One relaxed load.
bool recording();

// Absolute, "" before a trace is open in this process.
const char* trace_directory();

// Around the real call of a release: its ticket stands in the ring header's in-flight table until the call returned.
// enter returns the slot to give back, or -1 (table full or nothing recorded: then nothing is marked).
int in_flight_enter(uint64_t ticket);
void in_flight_leave(int slot);

// Publishes a String/Fact/Device definition (interned: the same bytes give the same id) and returns its id; 0 before the
// ring is open or when the table is full (counted).
trace::DefinitionId define(trace::DefinitionKind kind, const void* body, uint32_t bytes);

// Called in each process once its ring is there and before its first event is written: where the hooks publish what events
// name by an index (Names) and what is known of the driver. May call define(); must not call record(). Setting it twice
// with the same function is fine; it survives a fork. Set it before the first record().
void set_opened_callback(void (*callback)());

// Called in each process once its ring is there, after the opened callback and before anybody else can record: what
// began before there was a trace stands first in it, by write_first(). Survives a fork.
void set_first_events_callback(void (*callback)());

// Writes the event as it is, thread and time included (0: the caller's, now). Also from the first-events callback, but
// never opens a trace. False: not written.
bool write_first(trace::Event event);

// Counts one loss that a caller has noticed (a name that could not be published, …). Nothing before the ring is open.
void count_loss(trace::Loss reason);

}  // namespace vramtrace::shim
