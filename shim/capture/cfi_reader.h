// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Reads numbers as DWARF spells them, never past an end. After the first failure everything reads 0 and good() is false.
namespace vramtrace::shim {

class CfiReader {
public:
    CfiReader(uintptr_t at, uintptr_t end) : at_(at), end_(end), good_(at <= end) {}

    bool good() const { return good_; }
    bool at_end() const { return at_ >= end_ || !good_; }
    uintptr_t position() const { return at_; }
    size_t left() const { return good_ ? end_ - at_ : 0; }

    template <typename T>
    T fixed() {
        T value{};
        if (left() < sizeof(T)) {
            good_ = false;
            return value;
        }
        memcpy(&value, reinterpret_cast<const void*>(at_), sizeof(T));
        at_ += sizeof(T);
        return value;
    }
    uint8_t byte() { return fixed<uint8_t>(); }

    uint64_t uleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const uint8_t b = byte();
            if (shift < 64) value |= static_cast<uint64_t>(b & 0x7f) << shift;
            if (!(b & 0x80)) return value;
        }
    }
    int64_t sleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const uint8_t b = byte();
            if (shift < 64) value |= static_cast<uint64_t>(b & 0x7f) << shift;
            shift += 7;
            if (b & 0x80) continue;
            if ((b & 0x40) && shift < 64) value |= ~0ULL << shift;
            return static_cast<int64_t>(value);
        }
    }
    void skip(uint64_t bytes) {
        if (bytes > left()) {
            good_ = false;
        } else {
            at_ += bytes;
        }
    }
    // The rest as a reader of its own that ends after `bytes`.
    CfiReader part(uint64_t bytes) {
        const uintptr_t from = at_;
        skip(bytes);
        return good_ ? CfiReader(from, at_) : CfiReader(1, 0);
    }

    static constexpr uint8_t kOmitted = 0xff;
    // A pointer as DW_EH_PE_* `encoding` says; `data_base` is the start of .eh_frame_hdr for datarel.
    uintptr_t pointer(uint8_t encoding, uintptr_t data_base) {
        const uintptr_t here = at_;
        uint64_t value = 0;
        switch (encoding & 0x0f) {
            case 0x00:
                value = fixed<uint64_t>();
                break;  // absptr
            case 0x01:
                value = uleb();
                break;  // uleb128
            case 0x02:
                value = fixed<uint16_t>();
                break;  // udata2
            case 0x03:
                value = fixed<uint32_t>();
                break;  // udata4
            case 0x04:
                value = fixed<uint64_t>();
                break;  // udata8
            case 0x09:
                value = static_cast<uint64_t>(sleb());
                break;  // sleb128
            case 0x0a:
                value = static_cast<uint64_t>(int64_t{fixed<int16_t>()});
                break;  // sdata2
            case 0x0b:
                value = static_cast<uint64_t>(int64_t{fixed<int32_t>()});
                break;  // sdata4
            case 0x0c:
                value = fixed<uint64_t>();
                break;  // sdata8
            default:
                good_ = false;
        }
        switch (encoding & 0x70) {
            case 0x00:
                break;  // absolute
            case 0x10:
                value += here;
                break;  // pcrel
            case 0x30:
                value += data_base;
                break;  // datarel
            default:
                good_ = false;  // textrel, funcrel, aligned: nobody writes them on x86-64
        }
        if (encoding & 0x80) good_ = false;  // indirect: only personality routines, which are skipped by size
        return good_ ? value : 0;
    }

private:
    uintptr_t at_, end_;
    bool good_;
};

}  // namespace vramtrace::shim
