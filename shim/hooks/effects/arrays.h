// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/effects/array_size.h"
#include "shim/hooks/effects/effect.h"

namespace vramtrace::shim::arrays {

struct Creates : Making {
    template <typename Descriptor>
    void after(Call& call, Result result, Handle* array, const Descriptor* descriptor) {
        if (array == nullptr || descriptor == nullptr) return;
        const uint64_t bytes = array_bytes(*descriptor);
        if (result != kSuccess) return call.failed(trace::EventKind::ArrayCreate, result, bytes);
        trace::Event event = event_of(trace::EventKind::ArrayCreate);
        event.object = as_number(*array);
        event.size = bytes;
        call.allocated(event);
        call.sample_memory();
    }
};

struct Destroys : Ending {
    void before(Call& call, Handle array) { release_object(call, trace::EventKind::ArrayDestroy, as_number(array)); }
};

struct CreatesMipmap : Making {
    void after(Call& call, Result result, Handle* array, const Array3dDescriptor* descriptor, unsigned levels) {
        if (array == nullptr || descriptor == nullptr) return;
        const uint64_t bytes = mipmap_bytes(*descriptor, levels);
        if (result != kSuccess) return call.failed(trace::EventKind::MipmapCreate, result, bytes);
        trace::Event event = event_of(trace::EventKind::MipmapCreate);
        event.object = as_number(*array);
        event.size = bytes;
        event.aux = levels;
        call.allocated(event);
        call.sample_memory();
    }
};

struct DestroysMipmap : Ending {
    void before(Call& call, Handle array) { release_object(call, trace::EventKind::MipmapDestroy, as_number(array)); }
};

}  // namespace vramtrace::shim::arrays
