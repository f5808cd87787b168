// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/call_scope.h"
#include "shim/hooks/captures.h"
#include "shim/hooks/effects/effect.h"
#include "shim/hooks/effects/graph_memory.h"
#include "shim/hooks/samples.h"

namespace vramtrace::shim::pools {

// The device that new pool memory lies on: the stream's or the pool's, which need not be the current context's.
inline uint8_t device_of(const DriverCalls& driver, DevicePointer address) {
    const OwnCalls own;
    int ordinal = -1;
    if (driver.pointer_get_attribute == nullptr ||
        driver.pointer_get_attribute(&ordinal, kPointerDeviceOrdinal, address) != kSuccess)
        return trace::kNoDevice;
    return device_number(ordinal);
}

inline void allocated(Call& call, Result result, DevicePointer* address, size_t bytes, Handle pool, Handle stream,
                      bool per_thread) {
    if (address == nullptr) return;
    const CaptureState capture = capture_state(call.driver(), stream, per_thread);
    const auto kind = capture.graph != nullptr ? trace::EventKind::GraphAlloc : trace::EventKind::PoolAlloc;
    if (result != kSuccess) return call.failed(kind, result, bytes, 0, as_number(pool));
    trace::Event event = event_of(kind);
    event.address = *address;
    event.size = bytes;
    if (capture.graph != nullptr) {
        graph_memory_is_used();
        event.object = as_number(capture.graph);
        event.aux = as_number(capture.node);
    } else {
        event.object = as_number(pool);
        event.aux = as_number(stream);
        event.device = device_of(call.driver(), *address);
    }
    call.allocated(event);
    call.sample_memory();
    if (capture.graph == nullptr && recording()) sample_pool(call.driver(), pool, event.device);
}

template <bool kPerThread>
struct Allocates : Making {
    void after(Call& call, Result result, DevicePointer* address, size_t bytes, Handle stream) {
        allocated(call, result, address, bytes, nullptr, stream, kPerThread);
    }
};

template <bool kPerThread>
struct AllocatesFrom : Making {
    void after(Call& call, Result result, DevicePointer* address, size_t bytes, Handle pool, Handle stream) {
        allocated(call, result, address, bytes, pool, stream, kPerThread);
    }
};

template <bool kPerThread>
struct Frees : Ending {
    void before(Call& call, DevicePointer address, Handle stream) {
        if (address == 0) return;
        const CaptureState capture = capture_state(call.driver(), stream, kPerThread);
        const bool captured = capture.graph != nullptr;
        trace::Event event = event_of(captured ? trace::EventKind::GraphFree : trace::EventKind::PoolFree);
        event.address = address;
        event.object = as_number(capture.graph);
        event.aux = captured ? 0 : as_number(stream);
        if (captured) graph_memory_is_used();
        call.releasing(event);
    }
};

struct Creates : Making {
    void after(Call& call, Result result, Handle* pool, const PoolProperties* properties) {
        if (pool == nullptr || properties == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::PoolCreate, result, 0);
        trace::Event event = event_of(trace::EventKind::PoolCreate);
        event.object = as_number(*pool);
        event.size = properties->max_size;
        if (properties->location.type == kLocationDevice) event.device = device_number(properties->location.id);
        call.noted(event);
    }
};

struct Imports : Making {
    void after(Call& call, Result result, Handle* pool, void*, Enum, LongFlags) {
        if (pool == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::PoolCreate, result, 0);
        trace::Event event = event_of(trace::EventKind::PoolCreate);
        event.object = as_number(*pool);
        event.aux = 1;
        call.noted(event);
    }
};

struct ImportsPointer : Making {
    void after(Call& call, Result result, DevicePointer* address, Handle pool, void*) {
        if (address == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::PoolPointerImport, result, 0, 0, as_number(pool));
        trace::Event event = event_of(trace::EventKind::PoolPointerImport);
        event.address = *address;
        event.object = as_number(pool);
        call.allocated(event);
    }
};

struct Destroys : Ending {
    void before(Call& call, Handle pool) { release_object(call, trace::EventKind::PoolDestroy, as_number(pool)); }
};

struct Trims : Making {
    void after(Call& call, Result result, Handle pool, size_t bytes_to_keep) {
        if (result != kSuccess) return;
        trace::Event event = event_of(trace::EventKind::PoolTrim);
        event.object = as_number(pool);
        event.size = bytes_to_keep;
        call.noted(event);
        if (recording()) sample_pool(call.driver(), pool, call.place().device);
        call.sample_memory();
    }
};

struct SetsAttribute : Making {
    void after(Call& call, Result result, Handle pool, Enum attribute, void* value) {
        if (result != kSuccess || value == nullptr) return;
        trace::Event event = event_of(trace::EventKind::PoolSetAttribute);
        event.object = as_number(pool);
        event.aux = static_cast<uint64_t>(attribute);
        const bool is_int = attribute >= kFirstPoolAttribute && attribute <= kLastIntPoolAttribute;
        event.size = is_int ? static_cast<uint64_t>(*static_cast<int*>(value)) : *static_cast<uint64_t*>(value);
        call.noted(event);
    }
};

inline void became_current(Call& call, Result result, int ordinal, Handle pool) {
    if (result != kSuccess) return;
    trace::Event event = event_of(trace::EventKind::DeviceSetPool);
    event.object = as_number(pool);
    event.device = device_number(ordinal);
    call.noted(event);
}

struct BecomesCurrent : Making {
    void after(Call& call, Result result, Ordinal device, Handle pool) { became_current(call, result, device, pool); }
};

struct BecomesCurrentAt : Making {
    void after(Call& call, Result result, Location* location, Enum, Handle pool) {
        if (location != nullptr && location->type == kLocationDevice) became_current(call, result, location->id, pool);
    }
};

}  // namespace vramtrace::shim::pools
