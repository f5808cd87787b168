// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "simulator/ledger.h"

namespace vramtrace::simulator {

// One quantity of one device: its sums and what its peak consisted of.
//
//   at_peak_ + since_peak_ = what is live now, per tag
//
// since_peak_ collects the changes after the peak; a new peak folds it into at_peak_. So each change is folded at
// most once and no peak ever needs a walk over everything that is live.
class Sum {
public:
    void add(uint64_t tag, uint64_t bytes, uint64_t sequence);
    void subtract(uint64_t tag, uint64_t bytes, bool with_owner);
    void restart_peak();
    const vramtrace_sim_totals& totals() const { return totals_; }
    std::vector<vramtrace_sim_tag_bytes> by_tag(bool at_peak) const;

private:
    void fold();

    vramtrace_sim_totals totals_{};
    std::unordered_map<uint64_t, int64_t> at_peak_;
    std::unordered_map<uint64_t, int64_t> since_peak_;
};

// Everything that is live, by sequence number. Callers hold the machine's lock.
class Book {
public:
    struct Item {
        uint32_t kind = 0;
        int32_t device = -1;
        uint64_t address = 0;
        uint64_t local_bytes = 0;
        uint64_t extent_bytes = 0;
        uint64_t physical_bytes = 0;
        const void* context = nullptr;
        const void* pool = nullptr;
        const char* api = "";
    };

    uint64_t add(const Item& item, uint64_t tag);
    void remove(uint64_t sequence);
    // What is removed between these ends because its owner does.
    void owner_ends(bool begins) { owner_ends_ = begins; }
    const std::map<uint64_t, vramtrace_sim_allocation>& live() const { return live_; }
    const Sum* sum(int quantity, int device) const;
    void restart_peaks();

private:
    template <class Change>
    void for_each_sum(const vramtrace_sim_allocation& allocation, Change change);

    uint64_t last_sequence_ = 0;
    bool owner_ends_ = false;
    std::map<uint64_t, vramtrace_sim_allocation> live_;
    std::map<int, std::vector<Sum>> sums_;  // by device, then quantity
};

bool counts_as_device_memory(uint32_t kind);

}  // namespace vramtrace::simulator
