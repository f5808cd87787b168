// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/real/real_functions.h"

// Stream captures of this process, counted by the calls that begin and end them. Two things depend on it: a captured
// cuMemAllocAsync makes a graph node and no memory, and some questions break a capture that is under way anywhere.
namespace vramtrace::shim {

void capture_begins();  // before the real call that begins one
void capture_ended();   // after the real call that ended one, or when beginning failed
bool captures_active();

// Whether `stream` is being captured now. Safe to ask. `per_thread` says what stream 0 means.
bool is_capturing(const DriverCalls& driver, Handle stream, bool per_thread);

struct CaptureState {
    Handle graph = nullptr;  // nullptr: not captured
    Handle node = nullptr;   // the stream's last node, if it has exactly one
};
// The graph that `stream` is captured into; asks the driver only while captures are active.
CaptureState capture_state(const DriverCalls& driver, Handle stream, bool per_thread);

// While one of these is `allowed`, no capture is active and none begins: cuMemPoolGetAttribute may be asked. Beginning a
// capture waits for the few microseconds that takes.
class NoCapture {
public:
    NoCapture();
    ~NoCapture();
    NoCapture(const NoCapture&) = delete;
    NoCapture& operator=(const NoCapture&) = delete;
    bool allowed() const { return allowed_; }

private:
    bool allowed_ = false;
};

}  // namespace vramtrace::shim
