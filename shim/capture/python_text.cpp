// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/python_text.h"

#include <cstring>

#include "shim/capture/safe_memory.h"

namespace vramtrace::shim {
namespace {

constexpr uint32_t kReplacement = 0xfffd;
constexpr char kCut[] = "\xe2\x80\xa6";
constexpr size_t kCutBytes = sizeof(kCut) - 1;

// The bits of PyASCIIObject.state.
constexpr uint32_t kKindShift = 2, kKindMask = 7, kCompact = 1U << 5, kAscii = 1U << 6;

uint32_t character(const void* from, size_t index, unsigned bytes_per_character) {
    if (bytes_per_character == 1) return static_cast<const unsigned char*>(from)[index];
    if (bytes_per_character == 2) {
        uint16_t value;
        memcpy(&value, static_cast<const char*>(from) + 2 * index, sizeof(value));
        return value;
    }
    uint32_t value;
    memcpy(&value, static_cast<const char*>(from) + 4 * index, sizeof(value));
    return value;
}

size_t encode(uint32_t code, char* to) {
    if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff) code = kReplacement;
    const auto put = [&](size_t at, uint32_t bits) { to[at] = static_cast<char>(bits); };
    const auto rest = [&](unsigned shift) { return 0x80U | ((code >> shift) & 0x3f); };
    if (code < 0x80) {
        put(0, code);
        return 1;
    }
    if (code < 0x800) {
        put(0, 0xc0 | (code >> 6));
        put(1, rest(0));
        return 2;
    }
    if (code < 0x10000) {
        put(0, 0xe0 | (code >> 12));
        put(1, rest(6));
        put(2, rest(0));
        return 3;
    }
    put(0, 0xf0 | (code >> 18));
    put(1, rest(12));
    put(2, rest(6));
    put(3, rest(0));
    return 4;
}

}  // namespace

size_t text_to_utf8(const void* from, size_t count, unsigned bytes_per_character, char* to, size_t room) {
    size_t used = 0, before_last = 0;  // before_last: where the mark goes if the next one does not fit
    for (size_t i = 0; i < count; ++i) {
        char bytes[4];
        const size_t length = encode(character(from, i, bytes_per_character), bytes);
        if (used + length > room) {
            memcpy(to + before_last, kCut, kCutBytes);
            return before_last + kCutBytes;
        }
        memcpy(to + used, bytes, length);
        used += length;
        if (used + kCutBytes <= room) before_last = used;
    }
    return used;
}

size_t copy_python_text(uintptr_t object, const PythonLayout& layout, char* scratch, size_t scratch_bytes, char* to,
                        size_t room) {
    uint64_t length = 0;
    uint32_t state = 0;
    const auto unknown = [&]() -> size_t {
        to[0] = '?';
        return 1;
    };
    if (!safe_copy(&length, object + PythonLayout::kTextLength, sizeof(length)) ||
        !safe_copy(&state, object + PythonLayout::kTextState, sizeof(state)) || (state & kCompact) == 0)
        return unknown();
    const uint32_t kind = (state >> kKindShift) & kKindMask;
    if (kind != 1 && kind != 2 && kind != 4) return unknown();
    // One character more than can be kept, so that the cut is seen.
    size_t count = length < room + 1 ? static_cast<size_t>(length) : room + 1;
    if (count * kind > scratch_bytes) count = scratch_bytes / kind;
    const uintptr_t data = object + ((state & kAscii) != 0 ? layout.text_ascii : layout.text_compact);
    if (!safe_copy(scratch, data, count * kind)) return unknown();
    return text_to_utf8(scratch, count, kind, to, room);
}

}  // namespace vramtrace::shim
