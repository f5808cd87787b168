// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/hooks/function_table.h"
#include "shim/real/current_context.h"
#include "shim/real/real_functions.h"
#include "shim/record/recorder.h"
#include "trace/event.h"

namespace vramtrace::shim {

enum class SampleReason : uint8_t;

// One hooked driver call on its way, as the effects see it: they say what it means, this turns that into events and
// keeps the order rules of trace/event.h.
//
//   wrapper ── effect.before(call, …) ── real call ── effect.after(call, result, …)
//                 releasing()                            allocated() | failed() | released() | noted()
//
// Exactly once: when another preload stands behind us and calls the driver through us again, the inner call has already
// made the event (an allocation of the same address) or the outer one has (a release of the same address); the other
// stays silent.
class Call {
public:
    Call(Name api, const DriverCalls& driver);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    const DriverCalls& driver() const { return driver_; }
    // Context and device of the calling thread; asked once, and not of the driver if nothing is recorded.
    const Place& place();

    // Something came to be: an allocation, a handle, a reference. Event::device and context are filled in from place()
    // unless the effect has set a device. Opens the trace.
    void allocated(trace::Event& event) { made(event, OpensRing::Yes); }
    // The same for things that say nothing by themselves (streams, modules, graphs): dropped before a trace is open.
    void noted(trace::Event& event, WithStack stack = WithStack::Yes) { made(event, OpensRing::No, stack); }
    // An attempt to make `attempted` came back with `result`.
    void failed(trace::EventKind attempted, Result result, uint64_t size, uint64_t address = 0, uint64_t object = 0);

    // Before the real call of a release. Not more than once a call.
    void releasing(trace::Event& event);
    // After it: takes the event back if the driver refused.
    void released(Result result);

    // Free memory of the device, at most once a second; see samples.h.
    void sample_memory();
    // The same after code was loaded, which no other event shows.
    void sample_after_code();

private:
    void made(trace::Event& event, OpensRing opens, WithStack stack = WithStack::Yes);
    void fill_place(trace::Event& event);
    void sample(SampleReason reason);

    const DriverCalls& driver_;
    Place place_;
    const uint64_t serial_;  // of this thread's last event when the call began
    uint64_t ticket_ = kNotRecorded;
    uint64_t address_ = 0, object_ = 0;
    int in_flight_ = -1;
    const Name api_;
    trace::EventKind releasing_ = trace::EventKind::None;
    bool place_known_ = false;
    bool outermost_release_ = false;
};

// An event of a hook outside a driver call (a look-up, a failed runtime call).
uint64_t record_plain(trace::Event& event, OpensRing opens, WithStack stack);

// For what must be published before its event: opens the trace by an event of its own if nobody has yet.
void open_trace();

// How many failed driver calls this thread has recorded: tells whether a failed runtime call reached the driver.
uint32_t failures_of_this_thread();

}  // namespace vramtrace::shim
