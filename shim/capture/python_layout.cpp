// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/python_layout.h"

#include <cstring>

#include "shim/capture/safe_memory.h"

namespace vramtrace::shim {
namespace {

using trace::LineTable;

constexpr uint16_t version_of(unsigned minor) {
    return static_cast<uint16_t>(3U << 8 | minor);
}

// 3.8 to 3.10: frames are objects, one evaluation in C each.
constexpr PythonLayout frame_objects(unsigned minor) {
    PythonLayout layout;
    layout.version = version_of(minor);
    layout.every_frame_entered = true;
    layout.thread_frame = 24;
    layout.frame_code = 32;
    layout.frame_previous = 24;
    layout.frame_position = minor < 10 ? 104 : 96;
    layout.position = minor < 10 ? CodePosition::Bytes : CodePosition::Units;
    layout.form = minor < 10 ? LineTable::Lnotab : LineTable::Pep626;
    layout.code_first_line = 40;
    layout.code_bytes = 48;
    layout.code_file = 104;
    layout.code_name = 112;
    layout.code_table = 120;
    return layout;
}

// 3.11 and later: frames lie on a stack of the interpreter's own; calls from Python to Python stay in one evaluation.
constexpr PythonLayout interpreter_frames(unsigned minor) {
    PythonLayout layout;
    layout.version = version_of(minor);
    layout.form = LineTable::Location;
    layout.position = CodePosition::Pointer;
    layout.frame_code = 0;
    layout.frame_previous = 8;
    layout.frame_position = 56;
    layout.frame_owner = 70;
    layout.shim_owner = 3;
    layout.thread_frame = 72;
    layout.code_first_line = 68;
    layout.code_version = 92;
    layout.code_file = 112;
    layout.code_name = 120;
    layout.code_qualified = 128;
    layout.code_table = 136;
    layout.text_ascii = 40;
    layout.text_compact = 56;
    return layout;
}

constexpr PythonLayout python_3_11() {
    PythonLayout layout = interpreter_frames(11);
    layout.thread_frame = 56;
    layout.cframe_frame = 8;
    layout.frame_code = 32;
    layout.frame_previous = 48;
    layout.frame_owner = 69;
    layout.frame_entry = 68;
    layout.shim_owner = 255;
    layout.code_first_line = 72;
    layout.code_version = PythonLayout::kNone;
    layout.code_first_traceable = 168;
    layout.code_start = 184;
    layout.text_ascii = 48;
    layout.text_compact = 72;
    return layout;
}

constexpr PythonLayout python_3_12() {
    PythonLayout layout = interpreter_frames(12);
    layout.thread_frame = 56;
    layout.cframe_frame = 0;
    layout.code_first_traceable = 176;
    layout.code_start = 192;
    return layout;
}

constexpr PythonLayout python_3_13() {
    PythonLayout layout = interpreter_frames(13);
    layout.code_first_traceable = 184;
    layout.code_start = 200;
    return layout;
}

constexpr PythonLayout python_3_14() {
    PythonLayout layout = interpreter_frames(14);
    layout.frame_owner = 74;
    layout.tag_bits = 3;
    layout.code_first_traceable = 192;
    layout.code_start = 208;
    return layout;
}

constexpr PythonLayout kLayouts[] = {frame_objects(8), frame_objects(9), frame_objects(10), python_3_11(),
                                     python_3_12(),    python_3_13(),    python_3_14()};

// Where the entries of the interpreter's own table lie in it.
struct DebugTable {
    uint16_t version;
    uint16_t current_frame, previous, executable, position, owner;
    uint16_t file, name, qualified, table, first_line, start;
    uint16_t ascii_size;
};
constexpr DebugTable kDebugTables[] = {
    {version_of(13), 184, 232, 240, 248, 264, 280, 288, 296, 304, 312, 344, 560},
    {version_of(14), 208, 256, 264, 272, 288, 320, 328, 336, 344, 352, 384, 640},
};
constexpr char kCookie[] = "xdebugpy";
constexpr uint16_t kVersionAt = 8, kFreeThreadedAt = 16;
constexpr uint64_t kLargestOffset = 4096;

}  // namespace

bool python_layout(uint16_t version, PythonLayout& layout) {
    for (const PythonLayout& known : kLayouts) {
        if (known.version != version) continue;
        layout = known;
        return true;
    }
    return false;
}

const char* apply_debug_offsets(uintptr_t runtime, uint32_t hex, PythonLayout& layout) {
    const auto entry = [&](uint16_t at, uint64_t& value) { return safe_copy(&value, runtime + at, sizeof(value)); };
    char cookie[8];
    uint64_t version = 0, free_threaded = 0;
    if (!safe_copy(cookie, runtime, sizeof(cookie)) || memcmp(cookie, kCookie, sizeof(cookie)) != 0)
        return "its table of offsets is not where it should be";
    if (!entry(kVersionAt, version) || version != hex) return "its table of offsets is of another version";
    if (!entry(kFreeThreadedAt, free_threaded) || free_threaded != 0) return "a free-threaded build";
    for (const DebugTable& known : kDebugTables) {
        if (known.version != layout.version) continue;
        bool sane = true;
        const auto take = [&](uint16_t at, uint16_t& to) {
            uint64_t value = 0;
            if (entry(at, value) && value < kLargestOffset)
                to = static_cast<uint16_t>(value);
            else
                sane = false;
        };
        take(known.current_frame, layout.thread_frame);
        take(known.previous, layout.frame_previous);
        take(known.executable, layout.frame_code);
        take(known.position, layout.frame_position);
        take(known.owner, layout.frame_owner);
        take(known.file, layout.code_file);
        take(known.name, layout.code_name);
        take(known.qualified, layout.code_qualified);
        take(known.table, layout.code_table);
        take(known.first_line, layout.code_first_line);
        take(known.start, layout.code_start);
        take(known.ascii_size, layout.text_ascii);
        layout.text_compact = static_cast<uint16_t>(layout.text_ascii + 16);
        return sane ? nullptr : "its table of offsets makes no sense";
    }
    return "its table of offsets is not known";
}

}  // namespace vramtrace::shim
