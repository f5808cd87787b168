// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/effects/effect.h"
#include "shim/hooks/trace_start.h"

namespace vramtrace::shim::contexts {

inline void say_context(Call& call, trace::EventKind kind, const Place& place) {
    trace::Event event = event_of(kind);
    event.object = as_number(place.handle);
    event.device = place.device;
    event.context = place.context;
    call.allocated(event);
}

inline void created(Call& call, Result result, Handle* context, Ordinal device) {
    if (context == nullptr) return;
    if (result != kSuccess) return call.failed(trace::EventKind::ContextCreate, result, 0);
    know_device(call.driver(), device_number(device));
    // An old entry of this handle is of a context whose end was not seen.
    forget_context(*context);
    say_context(call, trace::EventKind::ContextCreate, know_context(*context, device, false));
    call.sample_memory();
}

struct Creates : Making {
    void after(Call& call, Result result, Handle* context, Flags, Ordinal device) {
        created(call, result, context, device);
    }
};

struct CreatesWithAffinity : Making {
    void after(Call& call, Result result, Handle* context, void*, int, Flags, Ordinal device) {
        created(call, result, context, device);
    }
};

struct CreatesWithParameters : Making {
    void after(Call& call, Result result, Handle* context, void*, Flags, Ordinal device) {
        created(call, result, context, device);
    }
};

struct CreatesForVdpau : Making {
    void after(Call& call, Result result, Handle* context, Flags, Ordinal device, unsigned, void*) {
        created(call, result, context, device);
    }
};

// A context's end as a release: the context is forgotten before the real call and remembered again if that failed.
struct EndsContext {
    Place ended;
    bool primary = false;

    void begin(Call& call, trace::EventKind kind, const Place& place, uint64_t object) {
        ended = place;
        trace::Event event = event_of(kind);
        event.object = object;
        event.device = place.device;
        event.context = place.context;
        call.releasing(event);
    }
    void finish(Call& call, Result result) {
        call.released(result);
        if (result != kSuccess) restore_context(ended, primary);
    }
};

struct Destroys : EndsContext {
    void before(Call& call, Handle context) {
        if (context != nullptr)
            begin(call, trace::EventKind::ContextDestroy, forget_context(context), as_number(context));
    }
    void after(Call& call, Result result, Handle) {
        finish(call, result);
        call.sample_memory();
    }
};

struct Attaches : Making {
    void after(Call&, Result result, Handle* context, Flags) {
        if (result == kSuccess && context != nullptr) count_attachments(*context, 1);
    }
};

// Only the last reference ends the context.
struct Detaches : EndsContext {
    bool last = false;
    void before(Call& call, Handle context) {
        if (context == nullptr || count_attachments(context, -1) >= 0) return;
        last = true;
        begin(call, trace::EventKind::ContextDestroy, forget_context(context), as_number(context));
    }
    void after(Call& call, Result result, Handle context) {
        if (last) finish(call, result);
        if (result != kSuccess && context != nullptr) count_attachments(context, 1);
    }
};

struct SetsLimit : Making {
    void after(Call& call, Result result, Enum limit, size_t bytes) {
        if (result != kSuccess) return;
        trace::Event event = event_of(trace::EventKind::ContextLimit);
        event.aux = static_cast<uint64_t>(limit);
        event.size = bytes;
        call.noted(event);
        call.sample_memory();
    }
};

struct RetainsPrimary : Making {
    void after(Call& call, Result result, Handle* context, Ordinal device) {
        if (context == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::PrimaryRetain, result, 0);
        know_device(call.driver(), device_number(device));
        count_primary_references(device, 1);
        const Place place = know_context(*context, device, true);
        if (place.first_seen) say_context(call, trace::EventKind::ContextSeen, place);
        say_context(call, trace::EventKind::PrimaryRetain, place);
        call.sample_memory();
    }
};

struct ReleasesPrimary : EndsContext {
    void before(Call& call, Ordinal device) {
        primary = true;
        Place place;
        if (count_primary_references(device, -1) <= 0) {
            place = forget_primary(device);
        } else {
            place.device = device_number(device);
        }
        begin(call, trace::EventKind::PrimaryRelease, place, as_number(place.handle));
    }
    void after(Call& call, Result result, Ordinal device) {
        finish(call, result);
        if (result != kSuccess) count_primary_references(device, 1);
        call.sample_memory();
    }
};

struct ResetsPrimary : EndsContext {
    void before(Call& call, Ordinal device) {
        primary = true;
        const Place place = forget_primary(device);
        begin(call, trace::EventKind::PrimaryReset, place, as_number(place.handle));
    }
    void after(Call& call, Result result, Ordinal) {
        finish(call, result);
        call.sample_memory();
    }
};

struct CreatesGreen : Making {
    void after(Call& call, Result result, Handle* context, Handle, Ordinal device, Flags) {
        if (context == nullptr) return;
        if (result != kSuccess) return call.failed(trace::EventKind::GreenCreate, result, 0);
        know_device(call.driver(), device_number(device));
        trace::Event event = event_of(trace::EventKind::GreenCreate);
        event.object = as_number(*context);
        event.device = device_number(device);
        call.allocated(event);
        call.sample_memory();
    }
};

struct DestroysGreen : Ending {
    void before(Call& call, Handle context) {
        release_object(call, trace::EventKind::GreenDestroy, as_number(context));
    }
};

// The context of a green one stands for its device's primary context.
struct ComesFromGreen : Making {
    void after(Call& call, Result result, Handle* context, Handle) {
        if (result != kSuccess || context == nullptr || !recording()) return;
        const Place here = call.place();
        const Place place = know_context(*context, here.device, false);
        if (place.first_seen) say_context(call, trace::EventKind::ContextSeen, place);
    }
};

}  // namespace vramtrace::shim::contexts
