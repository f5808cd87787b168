// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/effects/effect.h"

// Code and its static variables. How many bytes a module takes nobody says; the samples around its loading show it.
namespace vramtrace::shim::modules {

inline void loaded(Call& call, Result result, trace::EventKind kind, Handle* module) {
    if (module == nullptr) return;
    if (result != kSuccess) {
        // Most failures here are questions ("is there an image for this device?"); only lack of memory is about memory.
        constexpr Result kOutOfMemory = 2;
        if (result == kOutOfMemory) call.failed(kind, result, 0);
        return;
    }
    trace::Event event = event_of(kind);
    event.object = as_number(*module);
    call.noted(event);
    call.sample_after_code();
}

struct Loads : Making {
    void after(Call& call, Result result, Handle* module, const void*) {
        loaded(call, result, trace::EventKind::ModuleLoad, module);
    }
};

struct LoadsWithOptions : Making {
    void after(Call& call, Result result, Handle* module, const void*, unsigned, Enum*, void**) {
        loaded(call, result, trace::EventKind::ModuleLoad, module);
    }
};

struct LoadsLibrary : Making {
    void after(Call& call, Result result, Handle* library, const void*, Enum*, void**, unsigned, Enum*, void**,
               unsigned) {
        loaded(call, result, trace::EventKind::LibraryLoad, library);
    }
};

struct Unloads : Ending {
    void before(Call& call, Handle module) { release_object(call, trace::EventKind::ModuleUnload, as_number(module)); }
};

struct UnloadsLibrary : Ending {
    void before(Call& call, Handle library) {
        release_object(call, trace::EventKind::LibraryUnload, as_number(library));
    }
};

struct FindsGlobal : Making {
    template <typename Pointer, typename Size>
    void after(Call& call, Result result, Pointer* address, Size* bytes, Handle module, const char*) {
        if (result != kSuccess || address == nullptr) return;
        trace::Event event = event_of(trace::EventKind::ModuleGlobal);
        event.address = *address;
        event.size = bytes != nullptr ? *bytes : 0;
        event.object = as_number(module);
        call.noted(event);
        call.sample_after_code();  // a module that was loaded lazily takes its memory only now
    }
};

}  // namespace vramtrace::shim::modules
