// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/event.h"

// WHAT OF THE EVENTS IS WANTED: started or stopped, a minimum size, driver level only.
//
// While recording is stopped, what begins something is left out (allocations, failures, samples, marks), and what ends
// something is recorded all the same, without a stack: memory recorded before and freed meanwhile is no leak. What tells
// which things belong together (contexts, pools, mappings, graphs, ranges) is recorded too.
namespace vramtrace::shim {

struct Recording;

enum class Admission : uint8_t { Refused, WithoutStack, Full };

// Before the stack is captured. Counts what is too small.
Admission admit(Recording& recording, const trace::Event& event);

// The program's own word, which beats VRAMTRACE_START from then on; a fork's child inherits it. From any thread. Events
// that other threads are recording at that very moment may fall on either side.
void start_recording();
void stop_recording();
// What begins now would be recorded: neither stopped nor switched off. No word on whether there is anything to record.
bool recording_wanted();

// The trace is open and empty: says in its first event if nothing is to be recorded yet.
void announce_control(Recording& recording);

}  // namespace vramtrace::shim
