// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/python_self_test.h"

#include <initializer_list>

#include "shim/capture/python_chain.h"
#include "shim/capture/safe_memory.h"

namespace vramtrace::shim {
namespace {

constexpr unsigned kMostFrames = 64, kMostSteps = 4 * kMostFrames;
constexpr uint64_t kLongestText = 1U << 20, kLongestCode = 1U << 28, kLongestTable = 1U << 28;
constexpr int32_t kLastLine = 100'000'000;

// Bytes of an object that may be long, a piece at a time.
class ByteReader {
public:
    ByteReader(uintptr_t from, uint64_t bytes) : at_(from), left_(bytes) {}
    // False at the end, and when the rest cannot be read: then failed().
    bool next(uint8_t& byte) {
        if (used_ == filled_ && !fill()) return false;
        byte = piece_[used_++];
        return true;
    }
    bool failed() const { return failed_; }

private:
    bool fill() {
        const size_t part = left_ < sizeof(piece_) ? static_cast<size_t>(left_) : sizeof(piece_);
        if (part == 0) return false;
        failed_ = !safe_copy(piece_, at_, part);
        if (failed_) return false;
        at_ += part;
        left_ -= part;
        used_ = 0;
        filled_ = part;
        return true;
    }

    uintptr_t at_;
    uint64_t left_;
    uint8_t piece_[128];
    size_t used_ = 0, filled_ = 0;
    bool failed_ = false;
};

// The bytes of code that a line table speaks of; false if it has not the form.
bool table_extent(trace::LineTable form, uintptr_t data, uint64_t bytes, uint64_t& extent) {
    ByteReader reader(data, bytes);
    uint8_t byte = 0;
    extent = 0;
    if (form == trace::LineTable::Location) {
        // Each entry begins with a byte whose upper bit is set; its low three bits + 1 are instructions of two bytes.
        for (bool first = true; reader.next(byte); first = false) {
            if ((byte & 0x80) != 0)
                extent += 2 * ((byte & 7U) + 1);
            else if (first)
                return false;
        }
        return !reader.failed();
    }
    if (bytes % 2 != 0) return false;
    for (uint64_t i = 0; reader.next(byte); ++i) {
        if (i % 2 == 0) extent += byte;
    }
    return !reader.failed();
}

class CodeTest {
public:
    CodeTest(const PythonLayout& layout, const PythonTypes& types, SafeMemory& memory)
        : layout_(layout), types_(types), memory_(memory) {}

    const char* run(const PythonPlace& place) const {
        if (const char* wrong = names(place.code)) return wrong;
        uint64_t size = 0;
        if (!code_size(place.code, size) || size == 0 || size > kLongestCode) return "a code object has no code";
        if (place.offset >= size) return "a frame runs outside of its code";
        int32_t line = 0;
        if (!memory_.load(place.code + layout_.code_first_line, line) || line < 0 || line > kLastLine)
            return "a first line cannot be";
        uintptr_t table = 0;
        uint64_t bytes = 0, extent = 0;
        if (!object(place.code + layout_.code_table, types_.bytes, table) ||
            !memory_.load(table + PythonLayout::kObjectSize, bytes) || bytes > kLongestTable)
            return "a line table is not bytes";
        if (!table_extent(layout_.form, table + PythonLayout::kBytesData, bytes, extent))
            return "a line table has another form";
        // The oldest form leaves out the last line's length.
        if (layout_.form == trace::LineTable::Lnotab ? extent > size : extent != size)
            return "a line table does not fit its code";
        return nullptr;
    }

private:
    bool object(uintptr_t field, uintptr_t type, uintptr_t& found) const {
        uintptr_t its_type = 0;
        return memory_.load(field, found) && memory_.load(found + PythonLayout::kObjectType, its_type) &&
               its_type == type;
    }
    const char* names(uintptr_t code) const {
        for (const uint16_t field : {layout_.code_file, layout_.code_name, layout_.code_qualified}) {
            if (field == PythonLayout::kNone) continue;
            uintptr_t text = 0;
            uint64_t length = 0;
            uint32_t state = 0;
            if (!object(code + field, types_.text, text) || !memory_.load(text + PythonLayout::kTextLength, length) ||
                !memory_.load(text + PythonLayout::kTextState, state))
                return "a name is not a str";
            constexpr uint32_t kCompact = 1U << 5;
            const uint32_t kind = (state >> 2) & 7;
            char last = 0;
            if (length > kLongestText || (state & kCompact) == 0 || (kind != 1 && kind != 2 && kind != 4) ||
                !memory_.load(text + layout_.text_ascii + length, last))
                return "a name is no str of a kind that is known";
        }
        return nullptr;
    }
    bool code_size(uintptr_t code, uint64_t& size) const {
        if (layout_.code_bytes != PythonLayout::kNone) {
            uintptr_t bytes = 0;
            return object(code + layout_.code_bytes, types_.bytes, bytes) &&
                   memory_.load(bytes + PythonLayout::kObjectSize, size);
        }
        if (!memory_.load(code + PythonLayout::kObjectSize, size)) return false;
        size *= 2;
        return true;
    }

    const PythonLayout& layout_;
    const PythonTypes& types_;
    SafeMemory& memory_;
};

}  // namespace

const char* test_python_layout(const PythonLayout& layout, const PythonTypes& types, uintptr_t thread_state,
                               unsigned& frames) {
    using Chain = PythonChain<SafeMemory>;
    frames = 0;
    SafeMemory memory;
    Chain chain(layout, types.code, memory);
    if (!chain.begin(thread_state)) return "the thread state cannot be read";
    const CodeTest test(layout, types, memory);
    for (unsigned step = 0; step < kMostSteps && frames < kMostFrames; ++step) {
        PythonPlace place;
        switch (chain.next(place)) {
            case Chain::Next::End:
                return nullptr;
            case Chain::Next::Broken:
                return "a frame has no code object";
            case Chain::Next::Entry:
                break;
            case Chain::Next::Frame:
                if (const char* wrong = test.run(place)) return wrong;
                ++frames;
                break;
        }
    }
    return nullptr;
}

}  // namespace vramtrace::shim
