// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/captures.h"
#include "shim/hooks/effects/effect.h"

namespace vramtrace::shim::streams {

inline void created(Call& call, Result result, trace::EventKind kind, Handle* handle, Flags flags) {
    if (handle == nullptr) return;
    if (result != kSuccess) return call.failed(kind, result, 0);
    trace::Event event = event_of(kind);
    event.object = as_number(*handle);
    event.aux = flags;
    call.noted(event);
}

struct Creates : Making {
    void after(Call& call, Result result, Handle* stream, Flags flags) {
        created(call, result, trace::EventKind::StreamCreate, stream, flags);
    }
};

struct CreatesWithPriority : Making {
    void after(Call& call, Result result, Handle* stream, Flags flags, int) {
        created(call, result, trace::EventKind::StreamCreate, stream, flags);
    }
};

struct CreatesInGreen : Making {
    void after(Call& call, Result result, Handle* stream, Handle, Flags flags, int) {
        created(call, result, trace::EventKind::StreamCreate, stream, flags);
    }
};

struct Destroys : Ending {
    void before(Call& call, Handle stream) { release_object(call, trace::EventKind::StreamDestroy, as_number(stream)); }
};

struct CreatesEvent : Making {
    void after(Call& call, Result result, Handle* event, Flags flags) {
        created(call, result, trace::EventKind::EventCreate, event, flags);
    }
};

struct DestroysEvent : Ending {
    void before(Call& call, Handle event) { release_object(call, trace::EventKind::EventDestroy, as_number(event)); }
};

template <bool kPerThread>
struct BeginsCapture {
    template <typename... Others>
    void before(Call&, Handle, Others...) {
        capture_begins();
    }
    template <typename... Others>
    void after(Call& call, Result result, Handle stream, Others...) {
        if (result != kSuccess) return capture_ended();
        trace::Event event = event_of(trace::EventKind::CaptureBegin);
        event.aux = as_number(stream);
        call.noted(event);
    }
};

template <bool kPerThread>
struct EndsCapture {
    bool was_capturing = false;
    void before(Call& call, Handle stream, Handle*) {
        // A capture that has become invalid ends too, although the call then fails.
        was_capturing = captures_active() && is_capturing(call.driver(), stream, kPerThread);
    }
    void after(Call& call, Result result, Handle stream, Handle* graph) {
        if (was_capturing) capture_ended();
        if (result != kSuccess && !was_capturing) return;
        trace::Event event = event_of(trace::EventKind::CaptureEnd);
        event.aux = as_number(stream);
        event.object = result == kSuccess && graph != nullptr ? as_number(*graph) : 0;
        call.noted(event);
    }
};

}  // namespace vramtrace::shim::streams
