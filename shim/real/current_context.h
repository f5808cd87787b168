// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/real/real_functions.h"

// Where a driver call happens: the calling thread's context and its device, as trace::Event numbers them. Contexts get
// small indices when they are first seen; a handle that comes back after its context's end gets a new one.
namespace vramtrace::shim {

constexpr uint8_t kPlaceWithoutDevice = 0xff;

struct Place {
    Handle handle = nullptr;
    uint16_t context = 0;  // 0: no context is current, or too many contexts
    uint8_t device = kPlaceWithoutDevice;
    bool first_seen = false;  // this call gave it its index
};

// Asks the driver for the current context; its device comes from memory once it is known. Safe in a capture.
Place current_place(const DriverCalls& driver);

// The same for a context that is known already, else no place: what is current after a context's end may be that one.
Place known_current_place(const DriverCalls& driver);

// A context that a call has just returned. first_seen is false if it was known already.
Place know_context(Handle handle, Ordinal device, bool primary);

// Forgets a context BEFORE the real call that ends it (its handle may be given out again as soon as that call returns);
// restore_context() puts it back if the call failed. An unknown handle gives context = 0.
Place forget_context(Handle handle);
void restore_context(const Place& place, bool primary);

// The primary context of a device, if one is known; forget as above.
Place forget_primary(Ordinal device);

// Reference counts of the calls that have them: +1 or −1, answers the count after it.
int count_primary_references(Ordinal device, int change);
int count_attachments(Handle handle, int change);  // beyond the one that creation gave

}  // namespace vramtrace::shim
