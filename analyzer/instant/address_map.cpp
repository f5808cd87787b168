// SPDX-License-Identifier: Apache-2.0
#include "analyzer/instant/address_map.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/instant/page_footprint.h"

namespace vramtrace::instant {
namespace {

using replay::Allocation;
using replay::Kind;

uint64_t bounded_end(uint64_t address, uint64_t bytes) {
    return address + std::min(bytes, UINT64_MAX - kPageBytes - address);
}

HoleSummary summarize(const std::vector<Run>& areas, const std::vector<Run>& taken) {
    HoleSummary sum;
    sum.areas = areas.size();
    for (const Run& area : areas) sum.area_bytes += area.bytes;
    const std::vector<Run> holes = holes_in(areas, taken);
    std::vector<uint64_t> sizes;
    sizes.reserve(holes.size());
    for (const Run& hole : holes) {
        sizes.push_back(hole.bytes);
        sum.hole_bytes += hole.bytes;
        if (hole.bytes > sum.largest) sum.largest = hole.bytes, sum.largest_run = hole;
    }
    sum.holes = holes.size();
    sum.taken_bytes = sum.area_bytes - sum.hole_bytes;
    sum.largest_hole_ratio = largest_hole_ratio(sizes);
    sum.hole_dispersion = hole_dispersion(sizes);
    return sum;
}

// Pages touched, as areas: neighbouring pages are one area, so that a hole across them is one hole.
std::vector<Run> touched_pages(const std::vector<Run>& taken, uint64_t& pages) {
    std::vector<Run> areas;
    pages = 0;
    for (const Run& run : taken) {  // sorted
        uint64_t from = run.address / kPageBytes * kPageBytes;
        const uint64_t to = (run.end() - 1) / kPageBytes * kPageBytes + kPageBytes;
        if (!areas.empty()) from = std::max(from, areas.back().end());
        if (to <= from) continue;
        pages += (to - from) / kPageBytes;
        if (!areas.empty() && areas.back().end() == from) {
            areas.back().bytes += to - from;
        } else {
            areas.push_back({from, to - from});
        }
    }
    return areas;
}

// Which sites keep pages: only pages that an allocation shares or does not fill can hold waste.
std::vector<PinningSite> pinning_sites(const std::vector<const Allocation*>& memory) {
    struct Page {
        uint64_t live = 0;
        std::vector<std::pair<replay::SiteId, uint64_t>> sites;
    };
    std::unordered_map<uint64_t, Page> pages;
    const auto touch = [&pages](uint64_t page, replay::SiteId site, uint64_t bytes) {
        Page& touched = pages[page];
        touched.live += bytes;
        for (auto& [known, live] : touched.sites) {
            if (known == site) {
                live += bytes;
                return;
            }
        }
        touched.sites.emplace_back(site, bytes);
    };
    for (const Allocation* allocation : memory) {
        const uint64_t end = bounded_end(allocation->address, allocation->bytes);
        const uint64_t first = allocation->address / kPageBytes;
        const uint64_t last = (end - 1) / kPageBytes;
        const auto inside = [&](uint64_t page) {
            return std::min(end, (page + 1) * kPageBytes) - std::max(allocation->address, page * kPageBytes);
        };
        if (inside(first) < kPageBytes) touch(first, allocation->site, inside(first));
        if (last != first && inside(last) < kPageBytes) touch(last, allocation->site, inside(last));
    }
    std::unordered_map<replay::SiteId, PinningSite> sums;
    for (const auto& [number, page] : pages) {
        if (page.live >= kPageBytes) continue;
        for (const auto& [site, live] : page.sites) {
            PinningSite& sum = sums[site];
            sum.site = site;
            sum.live_bytes += live;
            sum.page_bytes += kPageBytes;
            ++sum.pages;
            if (page.sites.size() == 1) sum.alone_bytes += kPageBytes;
        }
    }
    std::vector<PinningSite> sites;
    sites.reserve(sums.size());
    for (const auto& [site, sum] : sums) sites.push_back(sum);
    std::sort(sites.begin(), sites.end(), [](const PinningSite& a, const PinningSite& b) {
        const uint64_t waste_a = a.page_bytes - a.live_bytes;
        const uint64_t waste_b = b.page_bytes - b.live_bytes;
        return waste_a != waste_b ? waste_a > waste_b : a.site < b.site;
    });
    if (sites.size() > kPinningSites) sites.resize(kPinningSites);
    return sites;
}

}  // namespace

AddressMap map_addresses(const replay::Replay& replay, uint8_t device) {
    AddressMap map;
    map.device = device;
    std::vector<const Allocation*> memory;
    std::vector<Run> reservations;
    replay.live().for_each([&](const Allocation& allocation) {
        // Addresses of a damaged trace may lie anywhere; none of a real one is near the end.
        if (allocation.bytes == 0 || allocation.address >= UINT64_MAX - 2 * kPageBytes) return;
        if (allocation.kind == Kind::AddressRange) {
            reservations.push_back(
                {allocation.address, bounded_end(allocation.address, allocation.bytes) - allocation.address});
        } else if (allocation.kind == Kind::DeviceMemory && allocation.device == device) {
            memory.push_back(&allocation);
        }
    });
    std::sort(memory.begin(), memory.end(),
              [](const Allocation* a, const Allocation* b) { return a->address < b->address; });
    std::vector<Run> taken;
    taken.reserve(memory.size());
    for (const Allocation* allocation : memory) {
        taken.push_back(
            {allocation->address, bounded_end(allocation->address, allocation->bytes) - allocation->address});
    }
    uint64_t pages = 0;
    const std::vector<Run> areas = touched_pages(taken, pages);
    map.pages = summarize(areas, taken);
    map.pages.areas = pages;
    map.pinning = pinning_sites(memory);

    std::vector<Run> mapped;
    for (const auto& [address, mapping] : replay.virtual_memory().mappings())
        mapped.push_back({address, mapping.bytes});
    map.reservations = summarize(reservations, mapped);
    return map;
}

}  // namespace vramtrace::instant
