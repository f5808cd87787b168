// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "shim/api/phases.h"
#include "shim/record/recorder.h"
#include "shim/record/recording_control.h"

// What <vramtrace.h> and the Python package call when the library is there. Names and types are an interface for good.
using namespace vramtrace::shim;

#define VRAMTRACE_EXPORTED extern "C" [[gnu::visibility("default")]]

VRAMTRACE_EXPORTED void vramtrace_api_mark(const char* text) {
    PhaseName name;
    take_name(name, text);
    mark(name, 0, Origin::Marker);
}

VRAMTRACE_EXPORTED void vramtrace_api_range_push(const char* text) {
    PhaseName name;
    take_name(name, text);
    begin_range(name, 0, 0, Origin::Marker);
}

VRAMTRACE_EXPORTED void vramtrace_api_range_pop() {
    end_range(0, 0, Origin::Marker);
}

VRAMTRACE_EXPORTED uint64_t vramtrace_api_range_start(const char* text) {
    PhaseName name;
    take_name(name, text);
    const uint64_t id = new_range_id();
    begin_range(name, id, 0, Origin::Marker);
    return id;
}

VRAMTRACE_EXPORTED void vramtrace_api_range_end(uint64_t id) {
    if (id != 0) end_range(id, 0, Origin::Marker);
}

VRAMTRACE_EXPORTED void vramtrace_api_start() {
    start_recording();
}

VRAMTRACE_EXPORTED void vramtrace_api_stop() {
    stop_recording();
}

VRAMTRACE_EXPORTED int vramtrace_api_is_recording() {
    return recording_wanted() ? 1 : 0;
}

VRAMTRACE_EXPORTED size_t vramtrace_api_trace_directory(char* to, size_t room) {
    const char* directory = trace_directory();
    const size_t bytes = std::strlen(directory);
    if (to != nullptr && room != 0) {
        const size_t part = bytes < room - 1 ? bytes : room - 1;
        std::memcpy(to, directory, part);
        to[part] = '\0';
    }
    return bytes;
}
