// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/real/current_context.h"
#include "shim/real/real_functions.h"

// What the driver says about a device or a pool, recorded as MemoryInfo and PoolInfo: at most once a second each, and
// never while the question would break somebody's capture.
namespace vramtrace::shim {

// A failed allocation wants to know how much was free just then: it does not wait for the second of the others to pass,
// only for its own.
enum class SampleReason : uint8_t { Routine, Failure };

// Free and total memory of the calling thread's device.
void sample_memory(const DriverCalls& driver, const Place& here, SampleReason reason);

// Reserved and used bytes of `pool`, or with nullptr of the current pool of the device.
void sample_pool(const DriverCalls& driver, Handle pool, uint8_t device);

}  // namespace vramtrace::shim
