// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "simulator/address_ranges.h"

namespace vramtrace::simulator {

enum class Use { kAllocations, kContexts, kPools, kGraphs, kCount };

// How much of one device is in use, in whole pages. Physical pages have no place: any free page serves any request,
// as the measured driver does by remapping.
class PhysicalMemory {
public:
    explicit PhysicalMemory(uint64_t total) : total_(total) {}

    bool take(uint64_t bytes, Use use);
    void give_back(uint64_t bytes, Use use);
    uint64_t total() const { return total_; }
    uint64_t used() const { return used_; }
    uint64_t used(Use use) const { return by_use_[static_cast<size_t>(use)]; }
    uint64_t peak() const { return peak_; }
    void restart_peak() { peak_ = used_; }

    // Asked when a request does not fit: caches give memory back, then the request is tried once more.
    std::function<void()> reclaim;

private:
    uint64_t total_;
    uint64_t used_ = 0;
    uint64_t peak_ = 0;
    std::array<uint64_t, static_cast<size_t>(Use::kCount)> by_use_{};
};

// Free runs of equal-sized slabs: best fit, lowest address first, runs never cross a slab. Granule 512 bytes.
//
//   slab   |piece|piece| free run |piece|     free run      |
//
class SlabSpace {
public:
    static constexpr uint64_t kGranule = 512;

    void add_slab(uint64_t address, uint64_t bytes);
    std::optional<uint64_t> take(uint64_t bytes);  // bytes: a multiple of the granule
    // Returns the slab {address, bytes} if it is empty now and was removed; only if `drop_empty`.
    std::optional<std::pair<uint64_t, uint64_t>> give_back(uint64_t address, uint64_t bytes, bool drop_empty);
    // Removes empty slabs while `more()` says so, telling each to `dropped`.
    void drop_empty_slabs(const std::function<bool(uint64_t slab_bytes)>& more,
                          const std::function<void(uint64_t address, uint64_t bytes)>& dropped);
    const std::map<uint64_t, uint64_t>& slabs() const { return slabs_; }

private:
    void add_run(uint64_t address, uint64_t bytes);
    void remove_run(std::map<uint64_t, uint64_t>::iterator run);

    std::map<uint64_t, uint64_t> slabs_;               // address -> bytes
    std::map<uint64_t, uint64_t> runs_;                // address -> bytes
    std::set<std::pair<uint64_t, uint64_t>> by_size_;  // bytes, address
};

// Memory of one context: whole pages above 2 MiB, pieces of shared pages below, as measured.
class PagedHeap {
public:
    struct Piece {
        uint64_t address;
        uint64_t physical_bytes;
    };

    PagedHeap(AddressArena& arena, PhysicalMemory& memory) : arena_(arena), memory_(memory) {}

    std::optional<Piece> allocate(uint64_t bytes);
    void free(const Piece& piece);
    // The pages that hold the piece: what sharing with another process shares.
    std::pair<uint64_t, uint64_t> block_of(const Piece& piece) const;

    std::function<void(uint64_t address, uint64_t bytes)> on_block_gone;

private:
    static bool is_small(uint64_t bytes) { return bytes < kPage; }
    std::optional<uint64_t> take_pages(uint64_t bytes);
    void give_pages_back(uint64_t address, uint64_t bytes);

    AddressArena& arena_;
    PhysicalMemory& memory_;
    SlabSpace small_;
};

}  // namespace vramtrace::simulator
