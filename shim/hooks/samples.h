// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/real/current_context.h"
#include "shim/real/real_functions.h"

// What the driver says about a device or a pool, recorded as MemoryInfo and PoolInfo: at most once a second each (after
// code was loaded: for a hundredth of the time), and never while the question would break somebody's capture.
namespace vramtrace::shim {

// A failed allocation wants to know how much was free just then: it does not wait for the second of the others to pass,
// only for its own. Code was loaded or dropped: nothing but free memory tells what that takes, and a program may load all
// its code within a moment; so these wait only until the question has cost no more than a hundredth of the time.
enum class SampleReason : uint8_t { Routine, Failure, Code };
constexpr unsigned kSampleReasons = 3;

// Free and total memory of the calling thread's device.
void sample_memory(const DriverCalls& driver, const Place& here, SampleReason reason);

// Reserved and used bytes of `pool`, or with nullptr of the current pool of the device.
void sample_pool(const DriverCalls& driver, Handle pool, uint8_t device);

}  // namespace vramtrace::shim
