// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

// Reads bytes whose lengths nobody trusts. A read past the end gives 0 (or nothing) and makes ok() false from then
// on, so that a parser reads on in a straight line and asks once at the end.
namespace vramtrace::trace {

class BoundedCursor {
public:
    explicit BoundedCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

    bool ok() const { return ok_; }
    size_t left() const { return bytes_.size() - at_; }
    bool done() const { return ok_ && left() == 0; }

    uint8_t u8() {
        if (left() == 0) return fail();
        return static_cast<uint8_t>(bytes_[at_++]);
    }

    // LEB128: seven bits a byte, lowest first, the top bit says that another follows. At most ten bytes.
    uint64_t varint() {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (left() == 0) return fail();
            const auto byte = static_cast<uint8_t>(bytes_[at_++]);
            value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if ((byte & 0x80) == 0) return value;
        }
        return fail();
    }

    // Zigzag: 0, −1, 1, −2, … are stored as 0, 1, 2, 3, …
    int64_t zigzag() {
        const uint64_t coded = varint();
        return static_cast<int64_t>((coded >> 1) ^ (~(coded & 1) + 1));
    }

    std::span<const std::byte> bytes(uint64_t count) {
        if (count > left()) {
            fail();
            return {};
        }
        const auto part = bytes_.subspan(at_, static_cast<size_t>(count));
        at_ += static_cast<size_t>(count);
        return part;
    }

    // A value stored as it lies in memory (little endian: the format knows no other machines).
    template <typename T>
    T fixed() {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        const auto part = bytes(sizeof(T));
        if (ok_) std::memcpy(static_cast<void*>(&value), part.data(), sizeof(T));
        return value;
    }

private:
    uint8_t fail() {
        ok_ = false;
        at_ = bytes_.size();
        return 0;
    }

    std::span<const std::byte> bytes_;
    size_t at_ = 0;
    bool ok_ = true;
};

}  // namespace vramtrace::trace
