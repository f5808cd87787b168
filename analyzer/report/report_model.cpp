// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/report_model.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analyzer/report/site_rows.h"
#include "analyzer/report/tensor_level.h"

namespace vramtrace::report {

namespace {

using accounts::Amount;
using accounts::Kind;
using accounts::Quantity;

constexpr size_t kLeakRows = 10;
constexpr size_t kOtherRows = 5;
constexpr size_t kPhaseRows = 12;

size_t rows(const Options& options, size_t own) {
    return options.limit != 0 ? options.limit : own;
}

void add(Amount& sum, const Amount& part) {
    sum.count += part.count;
    sum.bytes += part.bytes;
}

void add_leaks(ProcessReport& report, const Options& options) {
    const ProcessAnalysis& process = *report.process;
    std::vector<SiteEntry> memory;
    std::vector<SiteEntry> addresses;
    std::vector<SiteEntry> handles;
    std::vector<SiteEntry> tensors;
    std::array<Amount, replay::kQuantities> sums{};
    std::map<Kind, KindCount> kinds;
    for (const accounts::Leak& leak : process.accounts.leaks) {
        const accounts::SiteKey& key = process.accounts.sites[leak.site].key;
        const Quantity quantity = key.quantity();
        if (is_leak_quantity(quantity)) add(report.in_flight, leak.in_flight);
        if (leak.live.count == 0) continue;
        if (process.kept_by_runtime(key)) {
            add(report.kept_by_runtime, leak.live);
            continue;
        }
        const SiteEntry entry = {leak.site, leak.live, &leak};
        if (quantity == Quantity::AddressSpace) {
            addresses.push_back(entry);
        } else if (quantity == Quantity::Handle) {
            handles.push_back(entry);
            KindCount& kind = kinds[key.kind];
            kind.kind = key.kind;
            kind.count += leak.live.count;
        } else if (replay::is_block(quantity)) {
            tensors.push_back(entry);
            add(sums[static_cast<size_t>(quantity)], leak.live);
        } else {
            memory.push_back(entry);
            add(sums[static_cast<size_t>(quantity)], leak.live);
        }
    }
    for (const accounts::HandleCount& open : process.accounts.handles) {
        if (const auto kind = kinds.find(open.kind); kind != kinds.end())
            kind->second.borrowed_bytes += open.borrowed_bytes;
    }
    for (const auto& [kind, count] : kinds) report.handle_kinds.push_back(count);
    for (size_t i = 0; i < sums.size(); ++i) {
        const auto quantity = static_cast<Quantity>(i);
        auto& sorted = replay::is_block(quantity) ? report.tensors.by_quantity : report.by_quantity;
        if (sums[i].count != 0) sorted.push_back({quantity, sums[i]});
    }
    report.leaks = site_table(process, memory, options, rows(options, kLeakRows));
    report.leaked = report.leaks.total;
    report.tensors.left = site_table(process, tensors, options, rows(options, kLeakRows));
    report.address_space = site_table(process, addresses, options, rows(options, kOtherRows));
    // Pieces, not bytes: what a handle borrows is somebody else's.
    Options pieces = options;
    if (pieces.sort == Sort::Bytes) pieces.sort = Sort::Count;
    report.handles = site_table(process, handles, pieces, rows(options, kOtherRows));
}

// What was live at the peak of that device and quantity.
Table peak_table(const ProcessAnalysis& process, uint8_t device, Quantity quantity, const Options& options) {
    std::vector<SiteEntry> at_peak;
    for (accounts::SiteId id = 0; id < process.accounts.sites.size(); ++id) {
        const accounts::Site& site = process.accounts.sites[id];
        if (site.quantity() == quantity && site.key.device == device && site.at_peak.count != 0) {
            at_peak.push_back({id, site.at_peak, nullptr});
        }
    }
    return site_table(process, at_peak, options, rows(options, kOtherRows));
}

void add_devices(ProcessReport& report, const Options& options) {
    const ProcessAnalysis& process = *report.process;
    std::set<uint8_t> ordinals;
    for (const accounts::Total& total : process.accounts.totals) {
        if (total.device != trace::kNoDevice && total.quantity != Quantity::Handle) ordinals.insert(total.device);
        if (total.device == trace::kNoDevice && total.allocated.count != 0 && total.quantity != Quantity::Handle &&
            !replay::is_block(total.quantity)) {
            report.host_totals.push_back(&total);
        }
    }
    for (const auto& [ordinal, instant] : process.accounts.devices) ordinals.insert(ordinal);
    ordinals.erase(trace::kNoDevice);
    for (const uint8_t ordinal : ordinals) {
        DeviceReport device;
        device.device = ordinal;
        const auto facts = process.facts.devices.find(ordinal);
        if (facts != process.facts.devices.end()) device.facts = &facts->second;
        device.device_total = process.accounts.total(ordinal, Quantity::Device);
        device.managed_total = process.accounts.total(ordinal, Quantity::Managed);
        const auto instant = process.accounts.devices.find(ordinal);
        if (instant != process.accounts.devices.end()) device.instant = &instant->second;
        device.peak = peak_table(process, ordinal, Quantity::Device, options);
        device.tensor_total = process.accounts.total(ordinal, Quantity::Block);
        device.tensor_peak = peak_table(process, ordinal, Quantity::Block, options);
        for (const accounts::BlockTable& blocks : process.accounts.blocks) {
            if (blocks.device == ordinal) device.blocks = &blocks;
        }
        report.devices.push_back(std::move(device));
    }
}

void add_site_tables(ProcessReport& report, const Options& options) {
    const ProcessAnalysis& process = *report.process;
    std::vector<SiteEntry> churn;
    std::vector<SiteEntry> tensors;
    std::vector<SiteEntry> failures;
    for (accounts::SiteId id = 0; id < process.accounts.sites.size(); ++id) {
        const accounts::Site& site = process.accounts.sites[id];
        if (site.churned != 0 && site.quantity() != Quantity::Handle) {
            (replay::is_block(site.quantity()) ? tensors : churn).push_back({id, site.allocated, nullptr});
        }
        if (site.failures != 0) failures.push_back({id, {site.failures, 0}, nullptr});
    }
    Options busiest = options;
    if (options.sort == Sort::Bytes) busiest.sort = Sort::Churn;
    report.churn = site_table(process, churn, busiest, rows(options, kOtherRows));
    report.tensors.churn = site_table(process, tensors, busiest, rows(options, kOtherRows));
    Options often = options;
    often.sort = Sort::Count;
    report.failures = site_table(process, failures, often, rows(options, kOtherRows));
}

// The phases that moved most, in the order of their first range, so that nested ones follow theirs.
void add_phases(ProcessReport& report, const Options& options) {
    const auto weight = [](const accounts::Phase& phase) {
        uint64_t most = 0;
        for (const accounts::PhaseSum& sum : phase.sums) most = std::max({most, sum.rise, sum.allocated.bytes});
        return most;
    };
    for (const accounts::Phase& phase : report.process->accounts.phases.phases) report.phases.push_back(&phase);
    const size_t limit = options.full ? SIZE_MAX : rows(options, kPhaseRows);
    if (report.phases.size() <= limit) return;
    report.hidden_phases = report.phases.size() - limit;
    std::stable_sort(report.phases.begin(), report.phases.end(),
                     [&](const auto* a, const auto* b) { return weight(*a) > weight(*b); });
    report.phases.resize(limit);
    std::sort(report.phases.begin(), report.phases.end(),
              [](const auto* a, const auto* b) { return a->first.ticket < b->first.ticket; });
}

}  // namespace

bool is_leak_quantity(Quantity quantity) {
    return !replay::is_block(quantity) && quantity != Quantity::Handle && quantity != Quantity::AddressSpace;
}

Report build_report(const Analysis& analysis, const Options& options) {
    Report report;
    report.analysis = &analysis;
    report.options = options;
    for (const ProcessAnalysis& process : analysis.processes) {
        if (options.pid && process.status.identity.pid != *options.pid) continue;
        if (process.accounts.events == 0) {
            ++report.processes_without_events;
            if (process.lost_events() == 0 && process.status.warnings.empty()) continue;
        }
        ProcessReport part;
        part.process = &process;
        part.findings = verdict::judge(process);
        add_leaks(part, options);
        add_devices(part, options);
        add_site_tables(part, options);
        add_tensor_level(part);
        add_phases(part, options);
        if (!process.end.running()) add(report.leaked, part.leaked);
        report.processes.push_back(std::move(part));
    }
    return report;
}

}  // namespace vramtrace::report
