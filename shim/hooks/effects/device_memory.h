// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/effects/effect.h"

namespace vramtrace::shim::device_memory {

struct Allocates : Making {
    template <typename Pointer, typename Size>
    void after(Call& call, Result result, Pointer* address, Size bytes) {
        if (address == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::DeviceAlloc, result, bytes);
        trace::Event event = event_of(trace::EventKind::DeviceAlloc);
        event.address = *address;
        event.size = bytes;
        call.allocated(event);
        call.sample_memory();
    }
};

struct AllocatesPitched : Making {
    template <typename Pointer, typename Size>
    void after(Call& call, Result result, Pointer* address, Size* pitch, Size width, Size height, unsigned) {
        if (address == nullptr || pitch == nullptr) return;
        // Before the call nobody knows the pitch: a failure says the least that was asked for.
        if (result != kSuccess) return call.failed(trace::EventKind::DeviceAlloc, result, uint64_t{width} * height);
        trace::Event event = event_of(trace::EventKind::DeviceAlloc);
        event.address = *address;
        event.size = uint64_t{*pitch} * height;
        call.allocated(event);
        call.sample_memory();
    }
};

struct AllocatesManaged : Making {
    void after(Call& call, Result result, DevicePointer* address, size_t bytes, Flags flags) {
        if (address == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::ManagedAlloc, result, bytes);
        trace::Event event = event_of(trace::EventKind::ManagedAlloc);
        event.address = *address;
        event.size = bytes;
        event.aux = flags;
        call.allocated(event);
        call.sample_memory();
    }
};

struct Frees : Ending {
    void before(Call& call, DevicePointer address) { release_address(call, trace::EventKind::DeviceFree, address); }
};

}  // namespace vramtrace::shim::device_memory
