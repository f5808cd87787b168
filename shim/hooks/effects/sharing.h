// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/call_scope.h"
#include "shim/hooks/effects/effect.h"

// Memory that belongs to somebody else: another process, another API. It counts no local bytes.
namespace vramtrace::shim::sharing {

inline trace::DefinitionId define_handle(const IpcHandle& handle) {
    return define(trace::DefinitionKind::String, handle.bytes, sizeof handle.bytes);
}

struct Exports : Making {
    void after(Call& call, Result result, IpcHandle* handle, DevicePointer address) {
        if (handle == nullptr || result != kSuccess || !recording()) return;
        trace::Event event = event_of(trace::EventKind::IpcExport);
        event.address = address;
        event.aux = define_handle(*handle);
        call.noted(event);
    }
};

struct Opens : Making {
    void after(Call& call, Result result, DevicePointer* address, IpcHandle handle, Flags) {
        if (address == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::IpcOpen, result, 0);
        open_trace();
        trace::Event event = event_of(trace::EventKind::IpcOpen);
        event.address = *address;
        event.aux = define_handle(handle);
        DevicePointer base = 0;
        size_t bytes = 0;
        const auto range = call.driver().mem_get_address_range;
        {
            const OwnCalls own;
            if (range != nullptr && range(&base, &bytes, *address) == kSuccess) event.size = bytes;
        }
        call.allocated(event);
    }
};

struct Closes : Ending {
    void before(Call& call, DevicePointer address) { release_address(call, trace::EventKind::IpcClose, address); }
};

struct ImportsExternal : Making {
    void after(Call& call, Result result, Handle* memory, const ExternalMemoryDescriptor* descriptor) {
        if (memory == nullptr || descriptor == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::ExternalImport, result, descriptor->size);
        trace::Event event = event_of(trace::EventKind::ExternalImport);
        event.object = as_number(*memory);
        event.size = descriptor->size;
        call.allocated(event);
    }
};

struct DestroysExternal : Ending {
    void before(Call& call, Handle memory) {
        release_object(call, trace::EventKind::ExternalDestroy, as_number(memory));
    }
};

struct MapsBuffer : Making {
    void after(Call& call, Result result, DevicePointer* address, Handle memory,
               const ExternalBufferDescriptor* descriptor) {
        if (address == nullptr || descriptor == nullptr) return;
        if (result != kSuccess)
            return call.failed(trace::EventKind::ExternalBuffer, result, descriptor->size, 0, as_number(memory));
        trace::Event event = event_of(trace::EventKind::ExternalBuffer);
        event.address = *address;
        event.size = descriptor->size;
        event.object = as_number(memory);
        call.allocated(event);
    }
};

struct MapsMipmap : Making {
    void after(Call& call, Result result, Handle* array, Handle memory, const void*) {
        if (array == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::ExternalMipmap, result, 0, 0, as_number(memory));
        trace::Event event = event_of(trace::EventKind::ExternalMipmap);
        event.object = as_number(*array);
        event.aux = as_number(memory);
        call.allocated(event);
    }
};

struct MapsGraphics : Making {
    void after(Call& call, Result result, unsigned count, Handle* resources, Handle) {
        if (result != kSuccess || resources == nullptr) return;
        for (unsigned i = 0; i < count; ++i) {
            trace::Event event = event_of(trace::EventKind::GraphicsMap);
            event.object = as_number(resources[i]);
            call.noted(event);
        }
    }
};

// Said before the call as every release; the driver refuses all of the resources or none, and only the last of several is
// taken back by FreeFailed, so that more than one is said after the call instead: nothing is freed by unmapping.
struct UnmapsGraphics {
    void before(Call& call, unsigned count, Handle* resources, Handle) {
        if (count == 1 && resources != nullptr)
            release_object(call, trace::EventKind::GraphicsUnmap, as_number(resources[0]));
    }
    void after(Call& call, Result result, unsigned count, Handle* resources, Handle) {
        call.released(result);
        if (count < 2 || resources == nullptr || result != kSuccess) return;
        for (unsigned i = 0; i < count; ++i) {
            trace::Event event = event_of(trace::EventKind::GraphicsUnmap);
            event.object = as_number(resources[i]);
            call.noted(event);
        }
    }
};

struct PointsToGraphics : Making {
    template <typename Pointer, typename Size>
    void after(Call& call, Result result, Pointer* address, Size* bytes, Handle resource) {
        if (result != kSuccess || address == nullptr) return;
        trace::Event event = event_of(trace::EventKind::GraphicsPointer);
        event.address = *address;
        event.size = bytes != nullptr ? *bytes : 0;
        event.object = as_number(resource);
        call.noted(event);
    }
};

struct UnregistersGraphics : Ending {
    void before(Call& call, Handle resource) {
        release_object(call, trace::EventKind::GraphicsUnregister, as_number(resource));
    }
};

}  // namespace vramtrace::shim::sharing
