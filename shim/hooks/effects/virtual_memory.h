// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/blind_spots.h"
#include "shim/hooks/effects/effect.h"

namespace vramtrace::shim::virtual_memory {

struct ReservesAddresses : Making {
    void after(Call& call, Result result, DevicePointer* address, size_t bytes, size_t, DevicePointer, LongFlags) {
        if (address == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::AddressReserve, result, bytes);
        trace::Event event = event_of(trace::EventKind::AddressReserve);
        event.address = *address;
        event.size = bytes;
        call.allocated(event);
    }
};

struct FreesAddresses : Ending {
    void before(Call& call, DevicePointer address, size_t bytes) {
        release_address(call, trace::EventKind::AddressFree, address, bytes);
    }
};

struct Creates : Making {
    void after(Call& call, Result result, MemoryHandle* handle, size_t bytes, const PhysicalProperties* properties,
               LongFlags) {
        if (handle == nullptr || properties == nullptr) return;
        const Location location = properties->location;
        if (result != kSuccess) return call.failed(trace::EventKind::PhysicalCreate, result, bytes);
        trace::Event event = event_of(trace::EventKind::PhysicalCreate);
        event.object = *handle;
        event.size = bytes;
        event.aux =
            static_cast<uint64_t>(static_cast<uint32_t>(location.type)) << 32 | static_cast<uint32_t>(location.id);
        if (location.type == kLocationDevice) event.device = device_number(location.id);
        call.allocated(event);
        call.sample_memory();
    }
};

struct Imports : Making {
    void after(Call& call, Result result, MemoryHandle* handle, void*, Enum) {
        if (handle == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::PhysicalImport, result, 0);
        trace::Event event = event_of(trace::EventKind::PhysicalImport);
        event.object = *handle;
        call.allocated(event);
    }
};

struct Retains : Making {
    void after(Call& call, Result result, MemoryHandle* handle, void* address) {
        if (handle == nullptr || result != kSuccess) return;
        trace::Event event = event_of(trace::EventKind::PhysicalRetain);
        event.object = *handle;
        event.address = as_number(address);
        call.allocated(event);
    }
};

struct Releases : Ending {
    void before(Call& call, MemoryHandle handle) { release_object(call, trace::EventKind::PhysicalRelease, handle); }
};

struct Maps : Making {
    void after(Call& call, Result result, DevicePointer address, size_t bytes, size_t offset, MemoryHandle handle,
               LongFlags) {
        if (result != kSuccess) return call.failed(trace::EventKind::Map, result, bytes, address, handle);
        trace::Event event = event_of(trace::EventKind::Map);
        event.address = address;
        event.size = bytes;
        event.object = handle;
        event.aux = offset;
        call.allocated(event);
    }
};

// Rights move no bytes. A refusal is told: many an allocator leaves a mapping half done after it.
struct SetsAccess : Making {
    void after(Call& call, Result result, DevicePointer address, size_t bytes, const void*, size_t) {
        if (result != kSuccess) call.failed(trace::EventKind::Map, result, bytes, address);
    }
};

struct Unmaps : Ending {
    void before(Call& call, DevicePointer address, size_t bytes) {
        release_address(call, trace::EventKind::Unmap, address, bytes);
    }
};

struct MapsArrays : Making {
    void after(Call&, Result result, void*, unsigned, Handle) {
        if (result == kSuccess)
            note_blind_spot(
                "%s: tiles bound to sparse arrays are not followed; memory whose handle was released while "
                "it is bound counts as released",
                "cuMemMapArrayAsync");
    }
};

struct CreatesMulticast : Making {
    void after(Call& call, Result result, MemoryHandle* handle, const MulticastProperties* properties) {
        if (handle == nullptr || properties == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::MulticastCreate, result, properties->size);
        trace::Event event = event_of(trace::EventKind::MulticastCreate);
        event.object = *handle;
        event.size = properties->size;
        call.allocated(event);
    }
};

inline void bound(Call& call, Result result, MemoryHandle multicast, MemoryHandle memory, DevicePointer address,
                  size_t bytes, uint8_t device) {
    if (result != kSuccess) return call.failed(trace::EventKind::MulticastBind, result, bytes, address, multicast);
    trace::Event event = event_of(trace::EventKind::MulticastBind);
    event.object = multicast;
    event.size = bytes;
    event.aux = memory;
    event.address = address;
    event.device = device;
    call.allocated(event);
}

struct BindsMemory : Making {
    void after(Call& call, Result result, MemoryHandle multicast, size_t, MemoryHandle memory, size_t, size_t bytes,
               LongFlags) {
        bound(call, result, multicast, memory, 0, bytes, trace::kNoDevice);
    }
};

struct BindsMemoryOn : Making {
    void after(Call& call, Result result, MemoryHandle multicast, Ordinal device, size_t, MemoryHandle memory, size_t,
               size_t bytes, LongFlags) {
        bound(call, result, multicast, memory, 0, bytes, device_number(device));
    }
};

struct BindsAddress : Making {
    void after(Call& call, Result result, MemoryHandle multicast, size_t, DevicePointer address, size_t bytes,
               LongFlags) {
        bound(call, result, multicast, 0, address, bytes, trace::kNoDevice);
    }
};

struct BindsAddressOn : Making {
    void after(Call& call, Result result, MemoryHandle multicast, Ordinal device, size_t, DevicePointer address,
               size_t bytes, LongFlags) {
        bound(call, result, multicast, 0, address, bytes, device_number(device));
    }
};

struct Unbinds : Ending {
    void before(Call& call, MemoryHandle multicast, Ordinal device, size_t offset, size_t bytes) {
        trace::Event event = event_of(trace::EventKind::MulticastUnbind);
        event.object = multicast;
        event.size = bytes;
        event.aux = offset;
        event.device = device_number(device);
        call.releasing(event);
    }
};

}  // namespace vramtrace::shim::virtual_memory
