// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/effects/effect.h"

namespace vramtrace::shim::host_memory {

struct Allocates : Making {
    template <typename Size>
    void after(Call& call, Result result, void** address, Size bytes, Flags flags = 0) {
        if (address == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::HostAlloc, result, bytes);
        trace::Event event = event_of(trace::EventKind::HostAlloc);
        event.address = as_number(*address);
        event.size = bytes;
        event.aux = flags;
        call.allocated(event);
    }
};

struct Frees : Ending {
    void before(Call& call, void* address) { release_address(call, trace::EventKind::HostFree, as_number(address)); }
};

struct Registers : Making {
    void after(Call& call, Result result, void* address, size_t bytes, Flags flags) {
        if (result != kSuccess) return call.failed(trace::EventKind::HostRegister, result, bytes, as_number(address));
        trace::Event event = event_of(trace::EventKind::HostRegister);
        event.address = as_number(address);
        event.size = bytes;
        event.aux = flags;
        call.allocated(event);
    }
};

struct Unregisters : Ending {
    void before(Call& call, void* address) {
        release_address(call, trace::EventKind::HostUnregister, as_number(address));
    }
};

}  // namespace vramtrace::shim::host_memory
