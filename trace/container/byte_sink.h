// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

// The writing twin of trace/bounded_cursor.h: appends to a vector that keeps its room from block to block.
namespace vramtrace::trace {

class ByteSink {
public:
    void clear() { bytes_.clear(); }
    bool empty() const { return bytes_.empty(); }
    std::span<const std::byte> bytes() const { return bytes_; }

    void u8(uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }

    void varint(uint64_t value) {
        while (value >= 0x80) {
            u8(static_cast<uint8_t>(value | 0x80));
            value >>= 7;
        }
        u8(static_cast<uint8_t>(value));
    }

    void zigzag(int64_t value) { varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63)); }

    // The difference of two unsigned values, whichever is greater.
    void difference(uint64_t value, uint64_t from) { zigzag(static_cast<int64_t>(value - from)); }

    void append(std::span<const std::byte> part) { bytes_.insert(bytes_.end(), part.begin(), part.end()); }

    template <typename T>
    void fixed(const T& value) {
        append(std::as_bytes(std::span(&value, 1)));
    }

private:
    std::vector<std::byte> bytes_;
};

}  // namespace vramtrace::trace
