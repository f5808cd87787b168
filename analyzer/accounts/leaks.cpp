// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/leaks.h"

#include <algorithm>
#include <tuple>

namespace vramtrace::accounts {
namespace {

void note_thread(Leak& leak, uint32_t thread, const Threads& threads) {
    if (!leak.threads.empty() && leak.threads.back() == thread) return;
    if (const Thread* known = threads.find(thread); known != nullptr && known->last.ticket >= leak.last_sign.ticket) {
        leak.last_sign = known->last;
    }
    if (std::find(leak.threads.begin(), leak.threads.end(), thread) != leak.threads.end()) return;
    if (leak.threads.size() < kSiteThreads) {
        leak.threads.push_back(thread);
    } else {
        leak.more_threads = true;
    }
}

void note(Leak& leak, const Allocation& allocation, const Threads& threads) {
    const uint64_t bytes = allocation.counted_bytes();
    if (leak.live.count == 0 || allocation.birth.ticket < leak.first_birth.ticket) leak.first_birth = allocation.birth;
    if (leak.live.count == 0 || allocation.birth.ticket > leak.last_birth.ticket) leak.last_birth = allocation.birth;
    if (leak.live.count == 0 || allocation.bytes < leak.smallest) leak.smallest = allocation.bytes;
    const bool earlier = allocation.bytes == leak.example.bytes && allocation.id < leak.example.id;
    if (leak.live.count == 0 || allocation.bytes > leak.largest || earlier) leak.example = allocation;
    leak.largest = std::max(leak.largest, allocation.bytes);
    leak.live.add(bytes);
    if ((allocation.flags & replay::kOwnerDestroyed) != 0) leak.owner_destroyed.add(bytes);
    if (replay::is_block(allocation.kind)) {
        if ((allocation.flags & replay::kOffloaded) != 0) leak.offloaded.add(bytes);
    } else if ((allocation.flags & replay::kSegment) != 0) {
        leak.segments.add(bytes);
    }
    const bool physical = allocation.kind == Kind::Physical || allocation.kind == Kind::PhysicalHost ||
                          allocation.kind == Kind::ImportedPhysical;
    if (physical && allocation.mappings == 0) leak.unmapped.add(bytes);
    note_thread(leak, allocation.thread, threads);
}

}  // namespace

std::vector<Leak> left_by_site(const replay::LiveSet& live, const AtExit& at_exit, const Threads& threads,
                               const std::vector<Site>& sites, const PhaseCut* cut) {
    constexpr uint32_t kNone = UINT32_MAX;
    std::vector<uint32_t> places(sites.size(), kNone);
    std::vector<Leak> leaks;
    const auto of = [&](SiteId site) -> Leak& {
        if (places[site] == kNone) {
            places[site] = static_cast<uint32_t>(leaks.size());
            leaks.emplace_back();
            leaks.back().site = site;
        }
        return leaks[places[site]];
    };
    const auto wanted = [cut](const Allocation& allocation) { return cut == nullptr || PhaseCut::counts(allocation); };
    live.for_each([&](const Allocation& allocation) {
        if (wanted(allocation)) note(of(allocation.site), allocation, threads);
    });
    for (const auto& [id, allocation] : at_exit.left()) {
        if (!wanted(allocation)) continue;
        Leak& leak = of(allocation.site);
        note(leak, allocation, threads);
        leak.ended_with_context.add(allocation.counted_bytes());
    }
    for (SiteId site = 0; site < sites.size(); ++site) {
        if (sites[site].in_flight.count > 0) of(site).in_flight = sites[site].in_flight;
    }
    std::sort(leaks.begin(), leaks.end(), [](const Leak& a, const Leak& b) {
        return std::tuple(b.live.bytes, b.live.count, a.site) < std::tuple(a.live.bytes, a.live.count, b.site);
    });
    return leaks;
}

}  // namespace vramtrace::accounts
