// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "simulator/driver/allocations.h"
#include "simulator/driver/handles.h"

namespace vramtrace::simulator {

struct Capture;
struct Node;

// A stream-ordered free whose stream has not reached it yet.
struct PendingFree {
    Pool* pool;
    PagedHeap::Piece piece;
    uint64_t bytes;
    uint64_t ticket;
};

// Work is done when it is submitted. With VRAMTRACE_SIM_ASYNC it counts as finished only at a synchronisation, or at
// the second query: until then frees are pending and queries answer NOT_READY.
struct Stream {
    Context* context = nullptr;
    unsigned int flags = 0;
    int priority = 0;
    uint64_t id = 0;
    uint64_t sequence = 0;
    uint64_t submitted = 0;
    uint64_t finished = 0;
    bool asked = false;
    std::deque<PendingFree> pending;
    Capture* capture = nullptr;
    std::vector<Node*> last_nodes;  // of the capture: what the next node depends on
    CUstreamAttrValue attributes[CU_LAUNCH_ATTRIBUTE_PRIORITY + 1]{};
};

struct Event {
    Context* context = nullptr;
    unsigned int flags = 0;
    uint64_t sequence = 0;
    bool recorded = false;
    std::chrono::steady_clock::time_point time;
    Stream* stream = nullptr;
    uint64_t ticket = 0;
    Capture* capture = nullptr;  // recorded inside this capture
    std::vector<Node*> nodes;
};

using StreamTable = HandleTable<Stream, CUstream>;
using EventTable = HandleTable<Event, CUevent>;
StreamTable& streams();
EventTable& events();

Stream& stream_of(CUstream handle);  // default streams too; refuses with INVALID_HANDLE or CONTEXT_IS_DESTROYED
Stream& make_stream(Context& context, unsigned int flags, int priority);
void end_stream(Stream& stream);

void submit(Stream& stream);
void finish(Stream& stream);
void finish_until(Stream& stream, uint64_t ticket);
void finish_streams_of(Context& context);
void finish_streams_of(Device& device);
void for_each_stream_on(Device& device, const std::function<void(Stream&)>& visit);
bool is_finished(Stream& stream, uint64_t ticket);  // what a query sees

// An operation on a stream: the stream, with work submitted. In a capture use capturing() first.
Stream& work_on(CUstream handle);

// Captures (captures.cpp) -------------------------------------------------------------------------------------------

// The capture that the stream is in, or nullptr. Refuses if it was invalidated, or if the legacy stream is used
// while one is active.
Capture* capturing(Stream& stream);
// For calls that break a capture: invalidates what it breaks and refuses with STREAM_CAPTURE_UNSUPPORTED.
void refuse_in_capture();
void invalidate(Capture& capture);
void record_in_capture(Stream& stream, Event& event);
void wait_in_capture(Stream& stream, Event& event);
void forget_in_captures(Stream& stream);

}  // namespace vramtrace::simulator
