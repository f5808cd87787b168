// SPDX-License-Identifier: Apache-2.0
#include "simulator/physical_memory.h"

#include <algorithm>

namespace vramtrace::simulator {

bool PhysicalMemory::take(uint64_t bytes, Use use) {
    if (bytes > total_) {
        return false;
    }
    if (bytes > total_ - used_ && reclaim) {
        reclaim();
    }
    if (bytes > total_ - used_) {
        return false;
    }
    used_ += bytes;
    by_use_[static_cast<size_t>(use)] += bytes;
    peak_ = std::max(peak_, used_);
    return true;
}

void PhysicalMemory::give_back(uint64_t bytes, Use use) {
    used_ -= bytes;
    by_use_[static_cast<size_t>(use)] -= bytes;
}

void SlabSpace::add_run(uint64_t address, uint64_t bytes) {
    runs_.emplace(address, bytes);
    by_size_.emplace(bytes, address);
}

void SlabSpace::remove_run(std::map<uint64_t, uint64_t>::iterator run) {
    by_size_.erase({run->second, run->first});
    runs_.erase(run);
}

void SlabSpace::add_slab(uint64_t address, uint64_t bytes) {
    slabs_.emplace(address, bytes);
    add_run(address, bytes);
}

std::optional<uint64_t> SlabSpace::take(uint64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
        return std::nullopt;
    }
    const auto [run_bytes, address] = *fit;
    remove_run(runs_.find(address));
    if (run_bytes > bytes) {
        add_run(address + bytes, run_bytes - bytes);
    }
    return address;
}

std::optional<std::pair<uint64_t, uint64_t>> SlabSpace::give_back(uint64_t address, uint64_t bytes, bool drop_empty) {
    const auto slab = std::prev(slabs_.upper_bound(address));
    const uint64_t slab_end = slab->first + slab->second;
    auto next = runs_.upper_bound(address);
    if (next != runs_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == address && before->first >= slab->first) {
            address = before->first;
            bytes += before->second;
            remove_run(before);
        }
    }
    if (next != runs_.end() && next->first == address + bytes && next->first < slab_end) {
        bytes += next->second;
        remove_run(next);
    }
    if (drop_empty && bytes == slab->second) {
        const std::pair<uint64_t, uint64_t> empty = *slab;
        slabs_.erase(slab);
        return empty;
    }
    add_run(address, bytes);
    return std::nullopt;
}

void SlabSpace::drop_empty_slabs(const std::function<bool(uint64_t)>& more,
                                 const std::function<void(uint64_t, uint64_t)>& dropped) {
    for (auto slab = slabs_.begin(); slab != slabs_.end();) {
        const auto run = runs_.find(slab->first);
        if (run == runs_.end() || run->second != slab->second || !more(slab->second)) {
            ++slab;
            continue;
        }
        const auto [address, bytes] = *slab;
        remove_run(run);
        slab = slabs_.erase(slab);
        dropped(address, bytes);
    }
}

std::optional<uint64_t> PagedHeap::take_pages(uint64_t bytes) {
    if (!memory_.take(bytes, Use::kAllocations)) {
        return std::nullopt;
    }
    const auto address = arena_.take(bytes);
    if (!address) {
        memory_.give_back(bytes, Use::kAllocations);
    }
    return address;
}

void PagedHeap::give_pages_back(uint64_t address, uint64_t bytes) {
    if (on_block_gone) {
        on_block_gone(address, bytes);
    }
    arena_.give_back(address);
    memory_.give_back(bytes, Use::kAllocations);
}

std::optional<PagedHeap::Piece> PagedHeap::allocate(uint64_t bytes) {
    if (bytes > memory_.total()) {
        return std::nullopt;
    }
    const uint64_t size = round_up(std::max<uint64_t>(bytes, 1), SlabSpace::kGranule);
    if (!is_small(size)) {
        const uint64_t pages = round_up(size, kPage);
        const auto address = take_pages(pages);
        return address ? std::optional<Piece>({*address, pages}) : std::nullopt;
    }
    auto address = small_.take(size);
    if (!address) {
        const auto page = take_pages(kPage);
        if (!page) {
            return std::nullopt;
        }
        small_.add_slab(*page, kPage);
        address = small_.take(size);
    }
    return Piece{*address, size};
}

void PagedHeap::free(const Piece& piece) {
    if (!is_small(piece.physical_bytes)) {
        give_pages_back(piece.address, piece.physical_bytes);
    } else if (const auto page = small_.give_back(piece.address, piece.physical_bytes, true)) {
        give_pages_back(page->first, page->second);
    }
}

std::pair<uint64_t, uint64_t> PagedHeap::block_of(const Piece& piece) const {
    if (!is_small(piece.physical_bytes)) {
        return {piece.address, piece.physical_bytes};
    }
    return *std::prev(small_.slabs().upper_bound(piece.address));
}

}  // namespace vramtrace::simulator
