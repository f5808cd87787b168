// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis.h"

// TWO ANALYSES BESIDE EACH OTHER: two runs, or two phases of one. Call sites are matched by names (analyzer/site_key.h).
// Quantities are never added up: a framework's tensors lie in driver memory that is counted itself.
namespace vramtrace::diff {

enum class Sort { Left, Peak, Allocated };

struct Options {
    Sort sort = Sort::Left;
    bool lines = false;  // a call site is another one when its line is
    std::optional<uint32_t> pid_a, pid_b;
};

struct Amounts {
    accounts::Amount left;       // never given back by the program
    accounts::Amount peak;       // a total: its greatest; a call site: its part of the total at that instant
    accounts::Amount allocated;  // over the whole recording, or in the phase
};

// One side of a call site, as that side's names and lines have it.
struct SiteSide {
    Amounts amounts;
    size_t sites = 0;       // 0: there is no such call site
    std::string place;      // "train.cpp:33"
    uint64_t failures = 0;  // refused requests
};

struct SiteChange {
    std::string key;    // unique among those of one quantity and device
    std::string title;  // "forward_pass(Model const&) ← main"
    SiteSide before, after;

    bool is_new() const { return before.sites == 0; }
    bool is_gone() const { return after.sites == 0; }
};

// What is measured in pieces, not in bytes.
inline bool in_pieces(accounts::Quantity quantity) {
    return quantity == accounts::Quantity::Handle;
}

struct Change {
    int64_t left = 0, peak = 0, allocated = 0;  // after − before; bytes, or pieces

    bool none() const { return left == 0 && peak == 0 && allocated == 0; }
};
Change change(accounts::Quantity quantity, const Amounts& before, const Amounts& after);
// By what is sorted for, then the others: < 0 shrank, > 0 grew.
int64_t direction(const Change& change, Sort sort);

// One quantity on one device (of the process: kNoDevice).
struct QuantityDiff {
    accounts::Quantity quantity = accounts::Quantity::Device;
    uint8_t device_before = trace::kNoDevice, device_after = trace::kNoDevice;
    Amounts before, after;          // of all call sites
    std::vector<SiteChange> sites;  // what grew most first, what shrank most last, the unchanged in between
};

// Memory that is held beyond what is used. Not known of a phase alone.
struct DeviceSide {
    std::optional<uint64_t> footprint_peak;          // 2 MiB pages of plain device memory
    std::optional<uint64_t> reserved_peak;           // of a framework's segments
    std::optional<uint64_t> tensor_peak;             // of its blocks, each at its own peak
    std::optional<double> fragmentation;             // "peak ratio": 1 − tensor peak / reserved peak
    std::optional<uint64_t> out_of_memory, retries;  // of a framework's allocator
};
struct DeviceDiff {
    uint8_t device_before = trace::kNoDevice, device_after = trace::kNoDevice;
    DeviceSide before, after;
};

struct ProcessDiff {
    const ProcessAnalysis* before = nullptr;
    const ProcessAnalysis* after = nullptr;
    std::vector<QuantityDiff> quantities;
    std::vector<DeviceDiff> devices;
};

struct Diff {
    const Analysis* before = nullptr;
    const Analysis* after = nullptr;
    Options options;
    std::vector<ProcessDiff> processes;
    size_t others_before = 0, others_after = 0;  // processes with memory that are not compared
    std::vector<std::string> obstacles;          // why no conclusion can be drawn; "A: …", "B: …"
};

// Throws std::invalid_argument with one sentence if a process that was asked for is not there.
Diff compare(const Analysis& before, const Analysis& after, const Options& options);

}  // namespace vramtrace::diff
