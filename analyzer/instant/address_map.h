// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/instant/fragmentation.h"
#include "analyzer/replay/replay.h"

// HOLES between allocations, in terms of addresses, and who keeps them from closing.
namespace vramtrace::instant {

struct HoleSummary {
    uint64_t areas = 0;  // pages, or reservations
    uint64_t area_bytes = 0;
    uint64_t taken_bytes = 0;
    uint64_t holes = 0;
    uint64_t hole_bytes = 0;
    uint64_t largest = 0;
    Run largest_run;
    std::optional<double> largest_hole_ratio;  // F3: 1 − largest / total
    std::optional<double> hole_dispersion;     // F4: 1 − Σ s² / (Σ s)²
};

// A site whose small allocations keep 2 MiB pages from going back: `page_bytes` of pages in which it has live bytes,
// `alone_bytes` of those in which nobody else has.
struct PinningSite {
    replay::SiteId site = 0;
    uint64_t live_bytes = 0;
    uint64_t page_bytes = 0;
    uint64_t alone_bytes = 0;
    uint64_t pages = 0;
};

struct AddressMap {
    uint8_t device = trace::kNoDevice;
    HoleSummary pages;         // 2 MiB pages touched by plain device memory: what is free in them is stuck (measured)
    HoleSummary reservations;  // address reservations, process-wide: parts without a mapping
    std::vector<PinningSite> pinning;  // most waste first, at most kPinningSites
};
constexpr size_t kPinningSites = 64;

AddressMap map_addresses(const replay::Replay& replay, uint8_t device);

}  // namespace vramtrace::instant
