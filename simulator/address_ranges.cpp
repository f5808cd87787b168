// SPDX-License-Identifier: Apache-2.0
#include "simulator/address_ranges.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace vramtrace::simulator {
namespace {

// Enough that a buddy system of 2 MiB blocks cannot fragment itself into a refusal before the device is full.
constexpr uint64_t kSlack = 16;
constexpr uint64_t kArenaAlignment = uint64_t{1} << 30;

void* at(uint64_t address) {
    return reinterpret_cast<void*>(address);
}

}  // namespace

uint64_t map_lazily(uint64_t bytes, uint64_t alignment, bool accessible) {
    const int protection = accessible ? PROT_READ | PROT_WRITE : PROT_NONE;
    const uint64_t length = round_up(bytes, 4096);
    if (length < bytes || length + alignment < length) {
        return 0;
    }
    void* mapped = mmap(nullptr, length + alignment, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        return 0;
    }
    const auto start = reinterpret_cast<uint64_t>(mapped);
    const uint64_t aligned = round_up(start, alignment);
    if (aligned != start) {
        munmap(at(start), aligned - start);
    }
    munmap(at(aligned + length), start + alignment - aligned);
    // One touched byte must not cost a huge page, and a core dump must not write the device's memory.
    madvise(at(aligned), length, MADV_NOHUGEPAGE);
    madvise(at(aligned), length, MADV_DONTDUMP);
    return aligned;
}

void unmap(uint64_t address, uint64_t bytes) {
    munmap(at(address), round_up(bytes, 4096));
}

void make_private_again(uint64_t address, uint64_t bytes) {
    mmap(at(address), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    madvise(at(address), bytes, MADV_NOHUGEPAGE);
    madvise(at(address), bytes, MADV_DONTDUMP);
}

AddressArena::AddressArena(uint64_t expected_bytes) : span_(std::bit_ceil(std::max(expected_bytes, kPage)) * kSlack) {}

int AddressArena::order_of(uint64_t bytes) {
    return std::countr_zero(std::bit_ceil(std::max<uint64_t>(round_up(bytes, kPage) / kPage, 1)));
}

bool AddressArena::map() {
    // A machine with a limit on address space gets a smaller arena rather than none.
    while (base_ == 0 && span_ >= kPage) {
        base_ = map_lazily(span_, std::min(kArenaAlignment, span_), true);
        if (base_ == 0) {
            span_ /= 2;
        }
    }
    if (base_ == 0) {
        refused_ = true;
        return false;
    }
    top_order_ = order_of(span_);
    free_.resize(static_cast<size_t>(top_order_) + 1);
    free_.back().insert(0);
    return true;
}

std::optional<uint64_t> AddressArena::take(uint64_t bytes) {
    if (bytes > span_ || refused_ || (base_ == 0 && !map())) {
        return std::nullopt;
    }
    const int wanted = order_of(bytes);
    int order = wanted;
    while (order <= top_order_ && free_[static_cast<size_t>(order)].empty()) {
        ++order;
    }
    if (order > top_order_) {
        return std::nullopt;
    }
    auto& from = free_[static_cast<size_t>(order)];
    const uint64_t offset = *from.begin();
    from.erase(from.begin());
    while (order > wanted) {
        --order;
        free_[static_cast<size_t>(order)].insert(offset + (kPage << order));
    }
    taken_[offset] = wanted;
    return base_ + offset;
}

void AddressArena::give_back(uint64_t address) {
    uint64_t offset = address - base_;
    const auto found = taken_.find(offset);
    if (found == taken_.end()) {
        return;
    }
    int order = found->second;
    taken_.erase(found);
    madvise(at(address), kPage << order, MADV_DONTNEED);
    while (order < top_order_) {
        const uint64_t buddy = offset ^ (kPage << order);
        if (free_[static_cast<size_t>(order)].erase(buddy) == 0) {
            break;
        }
        offset = std::min(offset, buddy);
        ++order;
    }
    free_[static_cast<size_t>(order)].insert(offset);
}

}  // namespace vramtrace::simulator
