// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "analyzer/replay/allocation.h"
#include "analyzer/replay/observer.h"

namespace vramtrace::instant {

constexpr uint64_t kPageBytes = 2U << 20;  // measured: the driver gives device memory out in pages of this size

// HOW MUCH THE DRIVER HOLDS for plain device memory, from addresses alone: 2 MiB times the pages touched. Small pieces
// share a page, a piece of 2 MiB + 1 byte takes two (measured). Kept up to date in O(1): only the first and the last
// page of an allocation can be shared, the pages between are its own.
// An estimate: after frees the driver may keep a few pages of small pieces.
class PageFootprint : public replay::Observer {
public:
    struct OfDevice {
        uint64_t footprint = 0;  // bytes
        uint64_t live = 0;       // bytes asked for in them
        uint64_t peak = 0;       // greatest footprint
    };
    const OfDevice& of(uint8_t device) const { return devices_[device]; }

    void on_allocate(const replay::Allocation& allocation) override;
    void on_release(const replay::Allocation& allocation, const replay::Release&) override;
    void on_restore(const replay::Allocation& allocation, const replay::Release&, replay::Moment) override;

private:
    void take(const replay::Allocation& allocation);
    uint64_t enter(uint64_t page);
    uint64_t leave(uint64_t page);

    std::array<OfDevice, 256> devices_{};
    std::unordered_map<uint64_t, uint32_t> shared_;  // page → allocations that begin or end in it
};

}  // namespace vramtrace::instant
