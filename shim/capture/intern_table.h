// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/arena.h"
#include "shim/capture/raw_calls.h"
#include "trace/definition.h"

// A HASH INDEX over things that lie elsewhere and never change: hash → definition id, without a lock.
//
//   levels:  [0] 4096 places   [1] 4 × as many   … (4 Mi at most)        searched from the newest to the oldest
//   place:   0 = free, else | upper 36 bits of the hash | definition id (28 bits) |
//
// Places are taken by CAS and never given back. The hash only says where to look: `equal(id)` decides. Two threads that
// insert the same thing at the same moment may give it two ids; both name the same bytes.
namespace vramtrace::shim {

// Usable when zero-filled.
class InternTable {
public:
    static constexpr unsigned kLevels = 8, kFirstBits = 12, kBitsPerLevel = 2, kMostBits = 22;

    template <typename Equal>
    trace::DefinitionId find(uint64_t hash, Equal&& equal) const {
        for (unsigned level = level_.load(std::memory_order_acquire) + 1; level-- > 0;) {
            // acquire, pairs with the release in open_level().
            const std::atomic<uint64_t>* places = places_[level].load(std::memory_order_acquire);
            if (places == nullptr) continue;
            const size_t mask = mask_of(level);
            for (size_t probe = 0, at = hash & mask; probe < kProbes; ++probe, at = (at + 1) & mask) {
                // acquire, pairs with the release of the CAS in insert(): the thing was complete before.
                const uint64_t place = places[at].load(std::memory_order_acquire);
                if (place == 0) break;
                if (((place ^ hash) & kHashBits) == 0 && equal(id_of(place))) return id_of(place);
            }
        }
        return 0;
    }

    // False: nothing more can be remembered. To be asked before the thing is made.
    bool has_room() {
        const unsigned level = level_.load(std::memory_order_acquire);
        if (places_[level].load(std::memory_order_acquire) == nullptr) return open_level(level);
        const size_t most = (mask_of(level) + 1) / 8 * 5;
        if (used_[level].load(std::memory_order_relaxed) < most) return true;
        // Full only if the next one cannot be had; while somebody else makes it, a few more fit in here.
        // acquire, pairs with the release in make_level(): if its maker is just done, the level is there to be seen.
        return open_level(level + 1) || opening_.load(std::memory_order_acquire) != 0 || open_level(level + 1);
    }

    // Remembers `id`, unless an equal thing was put there meanwhile: then that one's id is the answer.
    template <typename Equal>
    trace::DefinitionId insert(uint64_t hash, trace::DefinitionId id, Equal&& equal) {
        for (unsigned level = level_.load(std::memory_order_acquire); level < kLevels; ++level) {
            if (!open_level(level)) break;
            std::atomic<uint64_t>* places = places_[level].load(std::memory_order_acquire);
            const size_t mask = mask_of(level);
            for (size_t probe = 0, at = hash & mask; probe < kProbes; ++probe, at = (at + 1) & mask) {
                uint64_t place = places[at].load(std::memory_order_acquire);
                // release: the thing is complete before its id is seen; pairs with the acquire in find().
                if (place == 0 &&
                    places[at].compare_exchange_strong(place, (hash & kHashBits) | id, std::memory_order_acq_rel,
                                                       std::memory_order_acquire)) {
                    used_[level].fetch_add(1, std::memory_order_relaxed);
                    return id;
                }
                if (((place ^ hash) & kHashBits) == 0 && equal(id_of(place))) return id_of(place);
            }
            used_[level].store(static_cast<uint32_t>(mask + 1),
                               std::memory_order_relaxed);  // crowded: the next one is due
        }
        return id;  // remembered by nobody; has_room() says no from now on
    }

private:
    static constexpr size_t kProbes = 64;
    static constexpr uint64_t kHashBits = ~((1ULL << trace::kDefinitionIdBits) - 1);

    static constexpr trace::DefinitionId id_of(uint64_t place) {
        return static_cast<trace::DefinitionId>(place & ~kHashBits);
    }
    static constexpr size_t mask_of(unsigned level) {
        const unsigned bits = kFirstBits + kBitsPerLevel * level;
        return (size_t{1} << (bits < kMostBits ? bits : kMostBits)) - 1;
    }

    bool open_level(unsigned level) {
        if (level >= kLevels) return false;
        if (places_[level].load(std::memory_order_acquire) == nullptr && !make_level(level)) return false;
        uint32_t newest = level_.load(std::memory_order_acquire);
        while (newest < level && !level_.compare_exchange_weak(newest, level, std::memory_order_acq_rel)) {
        }
        return true;
    }

    // One thread at a time, since a level may be 32 MiB; but the first one (32 KiB) is made by all who need it at once.
    bool make_level(unsigned level) {
        const raw::SignalsBlocked no_handler_leaves_us_here;
        uint32_t idle = 0;
        const bool alone = opening_.compare_exchange_strong(idle, 1, std::memory_order_acquire);
        if (!alone && level > 0) return false;
        std::atomic<uint64_t>* none = nullptr;
        if (places_[level].load(std::memory_order_acquire) == nullptr) {
            auto* fresh =
                static_cast<std::atomic<uint64_t>*>(arena_allocate((mask_of(level) + 1) * sizeof(uint64_t), 64));
            // release, pairs with the acquire in find(); a loser's memory is lost.
            if (fresh != nullptr) places_[level].compare_exchange_strong(none, fresh, std::memory_order_acq_rel);
        }
        if (alone) opening_.store(0, std::memory_order_release);
        return places_[level].load(std::memory_order_acquire) != nullptr;
    }

    std::atomic<uint32_t> opening_;  // 1 while a thread makes a level; acquire/release
    std::atomic<uint32_t> level_;    // the newest one
    std::atomic<uint32_t> used_[kLevels];
    std::atomic<std::atomic<uint64_t>*> places_[kLevels];
};

}  // namespace vramtrace::shim
