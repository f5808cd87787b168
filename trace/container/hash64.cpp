// SPDX-License-Identifier: Apache-2.0
#include "trace/container/hash64.h"

#include <bit>
#include <cstring>

namespace vramtrace::trace {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9ULL;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5ULL;

template <typename T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

uint64_t mixed(uint64_t lane, uint64_t word) {
    return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

}  // namespace

uint64_t hash64(std::span<const std::byte> bytes) {
    const std::byte* at = bytes.data();
    size_t left = bytes.size();
    uint64_t hash = kPrime5;

    if (left >= 32) {
        uint64_t lanes[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
        for (; left >= 32; left -= 32, at += 32) {
            for (size_t i = 0; i < 4; ++i) lanes[i] = mixed(lanes[i], load<uint64_t>(at + 8 * i));
        }
        hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
        for (const uint64_t lane : lanes) hash = (hash ^ mixed(0, lane)) * kPrime1 + kPrime4;
    }
    hash += bytes.size();

    for (; left >= 8; left -= 8, at += 8) hash = std::rotl(hash ^ mixed(0, load<uint64_t>(at)), 27) * kPrime1 + kPrime4;
    if (left >= 4) {
        hash = std::rotl(hash ^ (load<uint32_t>(at) * kPrime1), 23) * kPrime2 + kPrime3;
        left -= 4;
        at += 4;
    }
    for (; left > 0; --left, ++at) hash = std::rotl(hash ^ (static_cast<uint8_t>(*at) * kPrime5), 11) * kPrime1;

    hash = (hash ^ (hash >> 33)) * kPrime2;
    hash = (hash ^ (hash >> 29)) * kPrime3;
    return hash ^ (hash >> 32);
}

}  // namespace vramtrace::trace
