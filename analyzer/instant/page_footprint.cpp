// SPDX-License-Identifier: Apache-2.0
#include "analyzer/instant/page_footprint.h"

#include <algorithm>

namespace vramtrace::instant {
namespace {

// Pages of an allocation: [first, last] are all, `own` of them belong to it alone whatever else is live.
struct Pages {
    uint64_t first = 0, last = 0, own = 0;
    bool first_shared = false, last_shared = false;
};

Pages pages_of(const replay::Allocation& allocation) {
    Pages pages;
    const uint64_t bytes = std::min(allocation.bytes, UINT64_MAX - allocation.address);
    pages.first = allocation.address / kPageBytes;
    pages.last = (allocation.address + bytes - 1) / kPageBytes;
    pages.first_shared = allocation.address % kPageBytes != 0;
    pages.last_shared = (allocation.address + bytes) % kPageBytes != 0;
    if (pages.first == pages.last) {
        pages.first_shared = pages.first_shared || pages.last_shared;
        pages.last_shared = false;
    }
    pages.own = pages.last - pages.first + 1 - (pages.first_shared ? 1 : 0) - (pages.last_shared ? 1 : 0);
    return pages;
}

bool is_paged(const replay::Allocation& allocation) {
    return allocation.kind == replay::Kind::DeviceMemory && allocation.bytes > 0;
}

}  // namespace

uint64_t PageFootprint::enter(uint64_t page) {
    return ++shared_[page] == 1 ? 1 : 0;
}

uint64_t PageFootprint::leave(uint64_t page) {
    const auto place = shared_.find(page);
    if (--place->second > 0) return 0;
    shared_.erase(place);
    return 1;
}

void PageFootprint::take(const replay::Allocation& allocation) {
    if (!is_paged(allocation)) return;
    const Pages pages = pages_of(allocation);
    uint64_t count = pages.own;
    if (pages.first_shared) count += enter(pages.first);
    if (pages.last_shared) count += enter(pages.last);
    OfDevice& device = devices_[allocation.device];
    device.footprint += count * kPageBytes;
    device.live += allocation.bytes;
    device.peak = std::max(device.peak, device.footprint);
}

void PageFootprint::on_allocate(const replay::Allocation& allocation) {
    take(allocation);
}

void PageFootprint::on_restore(const replay::Allocation& allocation, const replay::Release&, replay::Moment) {
    take(allocation);
}

void PageFootprint::on_release(const replay::Allocation& allocation, const replay::Release&) {
    if (!is_paged(allocation)) return;
    const Pages pages = pages_of(allocation);
    uint64_t count = pages.own;
    if (pages.first_shared) count += leave(pages.first);
    if (pages.last_shared) count += leave(pages.last);
    OfDevice& device = devices_[allocation.device];
    device.footprint -= count * kPageBytes;
    device.live -= allocation.bytes;
}

}  // namespace vramtrace::instant
