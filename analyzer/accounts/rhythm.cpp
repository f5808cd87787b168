// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/rhythm.h"

#include <algorithm>

namespace vramtrace::accounts {
namespace {

uint64_t hash_of(SiteId site) {
    uint64_t hash = (site + 1) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (hash >> 31)) * 0xbf58476d1ce4e5b9ULL;
    return hash ^ (hash >> 29);
}

}  // namespace

void Rhythm::on_allocate(const Allocation& allocation) {
    const Quantity quantity = allocation.quantity();
    if (quantity == Quantity::Handle || quantity == Quantity::AddressSpace) return;
    if (records_.size() <= allocation.site) records_.resize(allocation.site + 1);
    Record& record = records_[allocation.site];
    uint64_t& sum = sums_[allocation.thread];
    sum += hash_of(allocation.site);
    if (record.any) {
        record.larger += allocation.bytes > record.last_bytes;
        record.smaller += allocation.bytes < record.last_bytes;
    }
    if (record.any && record.last_thread == allocation.thread) {
        const uint64_t stretch = sum - record.last_sum;
        const auto same = [&](const Usual& usual) { return usual.seen > 0 && usual.stretch == stretch; };
        const auto known = std::find_if(record.usual.begin(), record.usual.end(), same);
        if (known != record.usual.end()) {
            ++known->seen;
            ++record.repeats;
        } else {
            *std::min_element(record.usual.begin(), record.usual.end(),
                              [](const Usual& a, const Usual& b) { return a.seen < b.seen; }) = {stretch, 1};
        }
    }
    record.any = true;
    record.last_sum = sum;
    record.last_thread = allocation.thread;
    record.last_bytes = allocation.bytes;
}

}  // namespace vramtrace::accounts
