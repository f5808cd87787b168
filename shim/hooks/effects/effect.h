// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/call.h"

// What every effect is: before(call, arguments…) runs before the real call, after(call, result, arguments…) after it.
// Arguments may be nullptr or nonsense: the driver has the last word on them, an effect only looks at what a successful
// call must have filled in. Effects never call wrappers.
namespace vramtrace::shim {

// For calls that make something: nothing to do before.
struct Making {
    template <typename... Arguments>
    void before(Call&, Arguments...) {}
};

// For calls that end something: said before, taken back after if the driver refused.
struct Ending {
    template <typename... Arguments>
    void after(Call& call, Result result, Arguments...) {
        call.released(result);
    }
};

inline uint64_t as_number(const void* handle) {
    return reinterpret_cast<uintptr_t>(handle);
}
inline uint64_t as_number(uint64_t handle) {
    return handle;
}

inline trace::Event event_of(trace::EventKind kind) {
    trace::Event event;
    event.kind = kind;
    return event;
}

inline void release_object(Call& call, trace::EventKind kind, uint64_t object) {
    if (object == 0) return;
    trace::Event event = event_of(kind);
    event.object = object;
    call.releasing(event);
}

inline void release_address(Call& call, trace::EventKind kind, uint64_t address, uint64_t size = 0) {
    if (address == 0) return;  // cudaFree(nullptr), a habit: nothing happens
    trace::Event event = event_of(kind);
    event.address = address;
    event.size = size;
    call.releasing(event);
}

inline uint8_t device_number(int ordinal) {
    return ordinal >= 0 && ordinal < trace::kNoDevice ? static_cast<uint8_t>(ordinal) : trace::kNoDevice;
}

}  // namespace vramtrace::shim
