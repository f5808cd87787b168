// SPDX-License-Identifier: Apache-2.0
// Which device a thread works on, and the primary contexts this runtime holds.
#pragma once

#include "simulator/runtime/driver_calls.h"

namespace vramtrace::simulator::runtime {

/// Makes sure that the calling thread has a context: its own stays, else the primary one of its device is bound.
cudaError_t ensure_context(const DriverCalls& driver);

/// Chooses `device` for this thread and binds its primary context.
cudaError_t choose_device(const DriverCalls& driver, int device);

/// The primary context of `device`, retained but not made current.
cudaError_t primary_context(const DriverCalls& driver, int device, CUcontext* context);

/// The device of the current context, else the one this thread chose (0 at first).
int current_device(const DriverCalls& driver);

/// cudaDeviceReset: destroys the primary context of the thread's device; the next call starts it anew.
cudaError_t reset_device(const DriverCalls& driver);

/// Process exit: unloads the libraries and gives every retained primary context back.
void release_everything(const DriverCalls& driver);

/// Defined where the modules are: drops what registration has loaded so far.
void unload_libraries(const DriverCalls& driver);

}  // namespace vramtrace::simulator::runtime
