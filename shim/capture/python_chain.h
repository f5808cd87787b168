// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "shim/capture/python_layout.h"
#include "shim/capture/safe_memory.h"

// THE FRAMES OF A THREAD, from the innermost outwards, as the interpreter links them:
//
//   3.8–3.10   frame → frame → frame                     one evaluation in C each
//   3.11       frame → frame(is_entry) → frame …         an evaluation ends with the frame that is its entry
//   3.12 on    frame → frame → shim → frame → shim …     the shim stands where C called in
//
// Why it may be read without the GIL: only the thread itself runs, pushes and pops its frames, and it is here. Every frame
// owns its code object, so all that is reached is alive; what is read of a code object never changes. References are
// neither taken nor dropped.
// A handler that interrupted the interpreter may find the innermost frame half made. Then the chain is read through
// SafeMemory and every object is looked at before it is believed: a frame may be missing or out of date, no more.
namespace vramtrace::shim {

// For what is known to be there.
struct PlainMemory {
    static constexpr uintptr_t kFirstPage = 4096;
    template <typename T>
    [[gnu::always_inline]] bool load(uintptr_t address, T& value) {
        if (address < kFirstPage) [[unlikely]]
            return false;
        memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
        return true;
    }
};

// For what may be anything. Frames and code objects are asked for many small things: a few windows spare most of the copying.
class SafeMemory {
public:
    template <typename T>
    bool load(uintptr_t address, T& value) {
        const uintptr_t base = address & ~(kWindow - 1);
        if (address - base + sizeof(value) > kWindow) return safe_copy(&value, address, sizeof(value));
        Window* window = window_of(base);
        if (window == nullptr) return false;
        memcpy(&value, window->bytes + (address - base), sizeof(value));
        return true;
    }

private:
    static constexpr uintptr_t kWindow = 128;  // lies in one page
    static constexpr unsigned kWindows = 8;
    struct Window {
        uintptr_t base = 0;
        char bytes[kWindow];
    };
    Window* window_of(uintptr_t base) {
        for (Window& window : windows_) {
            if (window.base == base && base != 0) return &window;
        }
        Window& oldest = windows_[next_++ % kWindows];
        oldest.base = 0;
        if (!safe_copy(oldest.bytes, base, sizeof(oldest.bytes))) return nullptr;
        oldest.base = base;
        return &oldest;
    }

    Window windows_[kWindows];
    unsigned next_ = 0;
};

struct PythonPlace {
    uintptr_t code = 0;
    uint32_t offset = 0;   // bytes from the first instruction to the one that was running
    bool entered = false;  // this frame is known to be the outermost of its evaluation
};

template <typename Memory>
class PythonChain {
public:
    enum class Next : uint8_t {
        Frame,
        Entry,   // C called in here: the frame given before is the outermost of its evaluation
        End,     // the thread has no more
        Broken,  // what comes next cannot be
    };

    PythonChain(const PythonLayout& layout, uintptr_t code_type, Memory& memory)
        : layout_(layout), code_type_(code_type), memory_(memory) {}

    // False: the thread state cannot be read.
    bool begin(uintptr_t thread_state) {
        uintptr_t head = 0;
        if (!memory_.load(thread_state + layout_.thread_frame, head)) return false;
        if (layout_.cframe_frame != PythonLayout::kNone && !memory_.load(head + layout_.cframe_frame, head))
            return false;
        frame_ = head;
        return true;
    }
    bool empty() const { return frame_ == 0; }

    [[gnu::always_inline]] Next next(PythonPlace& place) {
        for (unsigned skipped = 0; skipped < kMostSkipped; ++skipped) {
            if (frame_ == 0) return Next::End;
            const uintptr_t frame = frame_;
            if (!memory_.load(frame + layout_.frame_previous, frame_)) return Next::Broken;
            uint8_t owner = 0, entry = 0;
            if (layout_.frame_owner != PythonLayout::kNone) {
                if (!memory_.load(frame + layout_.frame_owner, owner)) return Next::Broken;
                if (owner >= layout_.shim_owner) return Next::Entry;
            }
            if (layout_.frame_entry != PythonLayout::kNone && !memory_.load(frame + layout_.frame_entry, entry))
                return Next::Broken;
            uintptr_t type = 0;
            if (!memory_.load(frame + layout_.frame_code, place.code)) return Next::Broken;
            place.code &= ~static_cast<uintptr_t>(layout_.tag_bits);
            if (!memory_.load(place.code + PythonLayout::kObjectType, type) || type != code_type_) return Next::Broken;
            int64_t offset = 0;
            if (!read_offset(frame, place.code, offset)) return Next::Broken;
            if (owner != kOwnedByGenerator && !is_complete(place.code, offset)) {
                // Not yet begun: the interpreter does not show it either.
                if (entry != 0) return Next::Entry;
                continue;
            }
            place.offset = offset < 0 ? 0 : static_cast<uint32_t>(offset);
            place.entered = entry != 0 || layout_.every_frame_entered;
            return Next::Frame;
        }
        return Next::Broken;
    }

private:
    static constexpr unsigned kMostSkipped = 4096;
    static constexpr uint8_t kOwnedByGenerator = 1;
    static constexpr int64_t kLargestOffset = 1U << 30;

    [[gnu::always_inline]] bool read_offset(uintptr_t frame, uintptr_t code, int64_t& offset) {
        if (layout_.position == CodePosition::Pointer) {
            uintptr_t at = 0;
            if (!memory_.load(frame + layout_.frame_position, at)) return false;
            offset = static_cast<int64_t>(at - (code + layout_.code_start));
        } else {
            int32_t index = 0;
            if (!memory_.load(frame + layout_.frame_position, index)) return false;
            offset = layout_.position == CodePosition::Units ? int64_t{index} * 2 : index;
        }
        return offset < kLargestOffset && offset > -kLargestOffset;
    }
    [[gnu::always_inline]] bool is_complete(uintptr_t code, int64_t offset) {
        if (layout_.code_first_traceable == PythonLayout::kNone) return true;
        int32_t first = 0;
        return memory_.load(code + layout_.code_first_traceable, first) && offset >= int64_t{first} * 2;
    }

    const PythonLayout& layout_;
    const uintptr_t code_type_;
    Memory& memory_;
    uintptr_t frame_ = 0;
};

}  // namespace vramtrace::shim
