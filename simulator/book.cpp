// SPDX-License-Identifier: Apache-2.0
#include "simulator/book.h"

#include <algorithm>

namespace vramtrace::simulator {

void Sum::add(uint64_t tag, uint64_t bytes, uint64_t sequence) {
    totals_.live_bytes += bytes;
    totals_.live_count += 1;
    totals_.created_bytes += bytes;
    totals_.created_count += 1;
    if (bytes == 0) {
        return;
    }
    if (totals_.live_bytes <= totals_.peak_bytes) {
        since_peak_[tag] += static_cast<int64_t>(bytes);
        return;
    }
    totals_.peak_bytes = totals_.live_bytes;
    totals_.peak_sequence = sequence;
    fold();
    at_peak_[tag] += static_cast<int64_t>(bytes);
}

void Sum::subtract(uint64_t tag, uint64_t bytes, bool with_owner) {
    totals_.live_bytes -= bytes;
    totals_.live_count -= 1;
    totals_.ended_bytes += bytes;
    totals_.ended_count += 1;
    totals_.with_owner_bytes += with_owner ? bytes : 0;
    totals_.with_owner_count += with_owner ? 1 : 0;
    if (bytes != 0) {
        since_peak_[tag] -= static_cast<int64_t>(bytes);
    }
}

void Sum::fold() {
    if (since_peak_.empty()) {
        return;
    }
    for (const auto& [tag, change] : since_peak_) {
        auto& bytes = at_peak_[tag];
        bytes += change;
        if (bytes == 0) {
            at_peak_.erase(tag);
        }
    }
    since_peak_.clear();
}

void Sum::restart_peak() {
    fold();
    totals_.peak_bytes = totals_.live_bytes;
    totals_.peak_sequence = 0;
}

std::vector<vramtrace_sim_tag_bytes> Sum::by_tag(bool at_peak) const {
    std::map<uint64_t, int64_t> sums(at_peak_.begin(), at_peak_.end());
    if (!at_peak) {
        for (const auto& [tag, change] : since_peak_) {
            sums[tag] += change;
        }
    }
    std::vector<vramtrace_sim_tag_bytes> result;
    for (const auto& [tag, bytes] : sums) {
        if (bytes != 0) {
            result.push_back({tag, static_cast<uint64_t>(bytes)});
        }
    }
    return result;
}

bool counts_as_device_memory(uint32_t kind) {
    switch (kind) {
        case VRAMTRACE_SIM_DEVICE:
        case VRAMTRACE_SIM_PITCHED:
        case VRAMTRACE_SIM_STREAM_ORDERED:
        case VRAMTRACE_SIM_PHYSICAL:
        case VRAMTRACE_SIM_ARRAY:
        case VRAMTRACE_SIM_MIPMAPPED_ARRAY:
        case VRAMTRACE_SIM_GRAPH_MEMORY:
            return true;
        default:
            return false;
    }
}

template <class Change>
void Book::for_each_sum(const vramtrace_sim_allocation& allocation, Change change) {
    const bool device_memory = counts_as_device_memory(allocation.kind);
    const auto change_device = [&](int device) {
        auto& sums = sums_[device];
        if (sums.empty()) {
            sums.resize(VRAMTRACE_SIM_QUANTITY_COUNT);
        }
        change(sums[allocation.kind]);
        if (device_memory) {
            change(sums[VRAMTRACE_SIM_DEVICE_TOTAL]);
        }
    };
    change_device(VRAMTRACE_SIM_ALL_DEVICES);
    if (allocation.device >= 0) {
        change_device(allocation.device);
    }
}

uint64_t Book::add(const Item& item, uint64_t tag) {
    vramtrace_sim_allocation allocation{};
    allocation.sequence = ++last_sequence_;
    allocation.tag = tag;
    allocation.address = item.address;
    allocation.local_bytes = item.local_bytes;
    allocation.extent_bytes = item.extent_bytes;
    allocation.physical_bytes = item.physical_bytes;
    allocation.context = reinterpret_cast<uint64_t>(item.context);
    allocation.pool = reinterpret_cast<uint64_t>(item.pool);
    allocation.device = item.device;
    allocation.kind = item.kind;
    allocation.api = item.api;
    live_.emplace_hint(live_.end(), allocation.sequence, allocation);
    for_each_sum(allocation, [&](Sum& sum) { sum.add(tag, allocation.local_bytes, allocation.sequence); });
    return allocation.sequence;
}

void Book::remove(uint64_t sequence) {
    const auto found = live_.find(sequence);
    if (found == live_.end()) {
        return;
    }
    const vramtrace_sim_allocation allocation = found->second;
    live_.erase(found);
    for_each_sum(allocation, [&](Sum& sum) { sum.subtract(allocation.tag, allocation.local_bytes, owner_ends_); });
}

const Sum* Book::sum(int quantity, int device) const {
    static const Sum nothing;
    if (quantity < 0 || quantity >= VRAMTRACE_SIM_QUANTITY_COUNT) {
        return nullptr;
    }
    const auto found = sums_.find(device);
    return found == sums_.end() ? &nothing : &found->second[static_cast<size_t>(quantity)];
}

void Book::restart_peaks() {
    for (auto& [device, sums] : sums_) {
        for (Sum& sum : sums) {
            sum.restart_peak();
        }
    }
}

}  // namespace vramtrace::simulator
