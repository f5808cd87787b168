// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/verdict/verdicts.h"

// WHAT A REPORT SAYS, sorted and cut once for text and JSON alike. Nothing is added up here but rows of call sites.
namespace vramtrace::report {

enum class Sort { Bytes, Count, Peak, Churn };
enum class By { Stack, Function, File, Module, Api, Device, Thread };

struct Options {
    size_t limit = 0;  // rows of each table; 0 = each table's own (10 leaks, 5 of the others)
    Sort sort = Sort::Bytes;
    By by = By::Stack;
    bool full = false;            // whole stacks, all tables, every process
    std::optional<uint32_t> pid;  // only this process
};

// One or several call sites that share what --by asks for.
struct Row {
    std::string title;   // function, file, API, …
    std::string place;   // "train.cpp:33"; empty if the sites differ
    std::string caller;  // where several rows have one title and place: the nearest frame above it that differs
    std::string opaque;  // what makes it an arena nobody can look into, empty if it is none or if the sites differ
    std::string inside;  // library of NVIDIA's in between, empty if none or if they differ
    std::string kind;    // "device memory"; "several kinds"
    std::string api;     // "cudaMalloc → cuMemAlloc_v2"
    uint8_t device = trace::kNoDevice;
    const NamedStack* stack = nullptr;  // if one call site is all there is, or all sites share it
    uint64_t sites = 0;
    accounts::Amount amount;  // what the table is about: left, live at the peak, allocated
    accounts::Amount live, allocated, at_peak, in_flight, owner_destroyed, unmapped, ended_with_context, segments,
        offloaded;
    uint64_t own_peak_bytes = 0;  // of the greatest of its sites
    uint64_t largest = 0, smallest = 0;
    accounts::Moment first, last;  // births of what is left; else first and last allocation
    std::vector<uint32_t> threads;
    bool more_threads = false;
    accounts::Moment last_sign;  // leaks: last sign of life of any of the threads
    uint64_t churned = 0, lifetime_min = 0, lifetime_median = 0, lifetime_max = 0;
    uint64_t failures = 0, failures_recovered = 0;
    std::optional<accounts::Allocation> example;
};

struct Table {
    std::vector<Row> rows;
    size_t hidden_rows = 0;
    accounts::Amount hidden;  // what the rows cut off come to
    accounts::Amount total;
};

struct QuantityLeak {
    accounts::Quantity quantity;
    accounts::Amount amount;
};

struct KindCount {
    accounts::Kind kind;
    uint64_t count = 0;
    uint64_t borrowed_bytes = 0;  // of others' memory that they opened
};

struct DeviceReport {
    uint8_t device = trace::kNoDevice;
    const DeviceFacts* facts = nullptr;
    const accounts::Total* device_total = nullptr;  // Quantity::Device; nullptr: none was ever allocated
    const accounts::Total* managed_total = nullptr;
    const accounts::DeviceInstant* instant = nullptr;
    Table peak;                                     // what was live when device memory was at its peak
    const accounts::Total* tensor_total = nullptr;  // Quantity::Block
    const accounts::BlockTable* blocks = nullptr;   // nullptr: no framework told of blocks there
    Table tensor_peak;                              // what was live when tensors were at their peak
};

// The layer of frameworks' blocks: tensors. It lies in the driver's memory, so nothing of it is in the other sums.
struct TensorReport {
    std::string level;  // where the tensor level comes from, or why there is none; empty: no framework
    bool any = false;   // blocks were told
    Table left;         // by call site
    std::vector<QuantityLeak> by_quantity;  // tensor, host-tensor
    const accounts::Total* host_total = nullptr;
    const accounts::BlockTable* host_blocks = nullptr;
    Table churn;
};

struct ProcessReport {
    const ProcessAnalysis* process = nullptr;
    std::vector<verdict::Finding> findings;  // worst first
    accounts::Amount leaked;                 // memory of this process left at its end: sum of `by_quantity`
    std::vector<QuantityLeak> by_quantity;   // device, managed, host-pinned, host-registered
    accounts::Amount kept_by_runtime;        // modules that the CUDA runtime loaded and keeps to the end: no leak
    accounts::Amount in_flight;              // releases under way at the end: no leak
    Table leaks;
    Table address_space;  // reservations left: addresses, not memory
    Table handles;        // streams, events, modules, openings, … left
    std::vector<KindCount> handle_kinds;
    std::vector<DeviceReport> devices;
    std::vector<const accounts::Total*> host_totals;  // host-pinned, host-registered, address-space
    TensorReport tensors;
    Table churn;
    Table failures;                              // call sites with refused calls
    std::vector<const accounts::Phase*> phases;  // those shown, by first begin
    size_t hidden_phases = 0;
};

struct Report {
    const Analysis* analysis = nullptr;
    Options options;
    std::vector<ProcessReport> processes;  // those that are shown
    size_t processes_without_events = 0;
    accounts::Amount leaked;  // of all shown processes that have ended
};

Report build_report(const Analysis& analysis, const Options& options);

// Memory whose bytes a leak summary counts.
bool is_leak_quantity(accounts::Quantity quantity);

}  // namespace vramtrace::report
