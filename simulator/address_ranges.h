// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace vramtrace::simulator {

constexpr uint64_t kPage = uint64_t{2} << 20;  // the driver's physical page, as measured

constexpr uint64_t round_up(uint64_t bytes, uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// Address space of one device: one large lazily backed mapping, readable and writable by the host so that copies
// work. Given out in blocks of a power of two, at least one page (buddy system, lowest address first), which gives
// the measured pointer spacing: 3 MiB every 4 MiB, 20 MiB every 32 MiB. Physical use is counted elsewhere.
class AddressArena {
public:
    explicit AddressArena(uint64_t expected_bytes);

    std::optional<uint64_t> take(uint64_t bytes);  // nullopt: no room, or the kernel refused the arena
    void give_back(uint64_t address);              // contents return to the host

private:
    bool map();
    static int order_of(uint64_t bytes);

    uint64_t span_ = 0;
    uint64_t base_ = 0;
    int top_order_ = 0;
    bool refused_ = false;
    std::vector<std::set<uint64_t>> free_;  // offsets, by order
    std::unordered_map<uint64_t, int> taken_;
};

// Host mappings for managed memory, reservations and imports; 0 on failure. They never count as used memory of the
// host until touched.
uint64_t map_lazily(uint64_t bytes, uint64_t alignment, bool accessible);
void unmap(uint64_t address, uint64_t bytes);
void make_private_again(uint64_t address, uint64_t bytes);

}  // namespace vramtrace::simulator
