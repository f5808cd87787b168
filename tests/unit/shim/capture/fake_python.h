// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "shim/capture/python_layout.h"
#include "shim/capture/python_self_test.h"

// Objects in memory as an interpreter with a given layout would have them.
namespace vramtrace::test {

class FakePython {
public:
    explicit FakePython(unsigned minor) {
        known_ = shim::python_layout(static_cast<uint16_t>(3U << 8 | minor), layout_);
        types_.code = object(64);
        types_.text = object(64);
        types_.bytes = object(64);
        thread_state_ = object(256);
        set_head(0);
    }

    ~FakePython() { munmap(memory_, kMemory); }
    FakePython(const FakePython&) = delete;
    FakePython& operator=(const FakePython&) = delete;

    bool known() const { return known_; }
    shim::PythonLayout& layout() { return layout_; }
    const shim::PythonTypes& types() const { return types_; }
    uintptr_t thread_state() const { return thread_state_; }

    template <typename T>
    static void put(uintptr_t address, T value) {
        memcpy(reinterpret_cast<void*>(address), &value, sizeof(value));
    }

    uintptr_t object(size_t bytes) {
        used_ = (used_ + 15) & ~size_t{15};
        const uintptr_t made = reinterpret_cast<uintptr_t>(memory_) + used_;
        used_ += bytes + 16;
        if (used_ > kMemory) throw std::bad_alloc();
        return made;
    }

    // A str of characters of 1, 2 or 4 bytes.
    template <typename Character>
    uintptr_t text(const std::basic_string<Character>& characters, bool ascii = sizeof(Character) == 1) {
        const size_t bytes = (characters.size() + 1) * sizeof(Character);
        const uintptr_t made = object(layout_.text_compact + bytes);
        put(made + 8, types_.text);
        put<uint64_t>(made + 16, characters.size());
        put<uint32_t>(made + 32, sizeof(Character) << 2 | 1U << 5 | (ascii ? 1U << 6 : 0));
        memcpy(reinterpret_cast<void*>(made + (ascii ? layout_.text_ascii : layout_.text_compact)), characters.data(),
               bytes);
        return made;
    }
    uintptr_t bytes(const std::vector<uint8_t>& content) {
        const uintptr_t made = object(33 + content.size());
        put(made + 8, types_.bytes);
        put<uint64_t>(made + 16, content.size());
        memcpy(reinterpret_cast<void*>(made + 32), content.data(), content.size());
        return made;
    }

    // A function of eight instructions.
    uintptr_t code(const std::string& file, const std::string& name, int32_t line) {
        const uintptr_t made = object(layout_.code_start == shim::PythonLayout::kNone ? 256 : layout_.code_start + 16U);
        fill_code(made, file, name, line);
        return made;
    }
    void fill_code(uintptr_t made, const std::string& file, const std::string& name, int32_t line) {
        put(made + 8, types_.code);
        put(made + layout_.code_file, text(file));
        put(made + layout_.code_name, text(name));
        if (layout_.code_qualified != shim::PythonLayout::kNone) put(made + layout_.code_qualified, text("Q." + name));
        put(made + layout_.code_first_line, line);
        if (layout_.code_bytes != shim::PythonLayout::kNone)
            put(made + layout_.code_bytes, bytes(std::vector<uint8_t>(16)));
        else
            put<uint64_t>(made + 16, 8);
        const bool location = layout_.form == trace::LineTable::Location;
        // Eight instructions on the first line and the next.
        put(made + layout_.code_table,
            bytes(location ? std::vector<uint8_t>{0xdb, 0x00, 0xdb, 0x01} : std::vector<uint8_t>{8, 0, 8, 1}));
    }

    // Frames, innermost first, of one run of the interpreter.
    void run(const std::vector<uintptr_t>& codes, int32_t offset = 4) {
        uintptr_t* link = nullptr;
        for (const uintptr_t each : codes) {
            const uintptr_t frame = object(256);
            frames_.push_back(frame);
            put(frame + layout_.frame_code, each);
            if (layout_.position == shim::CodePosition::Pointer)
                put(frame + layout_.frame_position, each + layout_.code_start + static_cast<uintptr_t>(offset));
            else
                put(frame + layout_.frame_position,
                    layout_.position == shim::CodePosition::Units ? offset / 2 : offset);
            if (link == nullptr) set_head(frame);
            if (link != nullptr) *link = frame;
            link = reinterpret_cast<uintptr_t*>(frame + layout_.frame_previous);
        }
    }
    uintptr_t frame(size_t index) const { return frames_[index]; }
    void set_head(uintptr_t frame) {
        if (layout_.cframe_frame == shim::PythonLayout::kNone) return put(thread_state_ + layout_.thread_frame, frame);
        const uintptr_t cframe = object(64);
        put(cframe + layout_.cframe_frame, frame);
        put(thread_state_ + layout_.thread_frame, cframe);
    }

private:
    shim::PythonLayout layout_;
    bool known_ = false;
    shim::PythonTypes types_;
    uintptr_t thread_state_ = 0;
    // Not the heap: what is read through windows looks at the neighbourhood, too.
    static constexpr size_t kMemory = 256U << 20;
    char* memory_ = static_cast<char*>(
        mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    size_t used_ = 0;
    std::vector<uintptr_t> frames_;
};

}  // namespace vramtrace::test
