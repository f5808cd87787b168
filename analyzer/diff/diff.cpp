// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/diff.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "analyzer/instant/fragmentation.h"
#include "analyzer/obstacles.h"
#include "analyzer/site_key.h"

namespace vramtrace::diff {
namespace {

using accounts::Amount;
using accounts::Quantity;
using Processes = std::vector<const ProcessAnalysis*>;

void add(Amount& sum, const Amount& more) {
    sum.count += more.count;
    sum.bytes += more.bytes;
}

uint64_t weight(const ProcessAnalysis& process) {
    uint64_t bytes = 0;
    for (const accounts::Total& total : process.accounts.totals) {
        if (total.quantity == Quantity::Device) bytes += total.peak.bytes;
    }
    return bytes;
}

Processes with_memory(const Analysis& analysis, std::optional<uint32_t> pid, const char* side) {
    Processes chosen;
    for (const ProcessAnalysis& process : analysis.processes) {
        if (pid ? process.status.identity.pid == *pid : made_memory(process)) chosen.push_back(&process);
    }
    if (pid && chosen.empty())
        throw std::invalid_argument(std::string(side) + ": " + analysis.path + " has no process " +
                                    std::to_string(*pid));
    return chosen;
}

void keep_biggest(Processes& processes) {
    // Of equals the first one.
    const auto biggest = std::max_element(processes.begin(), processes.end(),
                                          [](const auto* a, const auto* b) { return weight(*a) < weight(*b); });
    if (biggest != processes.end()) processes = {*biggest};
}

// Which device of A is which of B: in order if both used as many, else by number.
class Devices {
public:
    Devices(const ProcessAnalysis& before, const ProcessAnalysis& after) {
        const std::vector<uint8_t> a = used(before), b = used(after);
        if (a.size() != b.size()) return;
        for (size_t i = 0; i < a.size(); ++i) {
            before_of_[b[i]] = a[i];
            after_of_[a[i]] = b[i];
        }
    }
    uint8_t before_of(uint8_t after) const { return look(before_of_, after); }
    uint8_t after_of(uint8_t before) const { return look(after_of_, before); }

private:
    using Map = std::map<uint8_t, uint8_t>;
    static uint8_t look(const Map& map, uint8_t device) {
        const auto found = map.find(device);
        return found == map.end() ? device : found->second;
    }
    static std::vector<uint8_t> used(const ProcessAnalysis& process) {
        std::set<uint8_t> devices;
        for (const accounts::Total& total : process.accounts.totals) {
            if (total.device != trace::kNoDevice && total.quantity != Quantity::Handle) devices.insert(total.device);
        }
        return {devices.begin(), devices.end()};
    }
    Map before_of_, after_of_;
};

std::string short_title(const ProcessAnalysis& process, const accounts::Site& site, const NamedStack& stack) {
    if (stack.missing || stack.frames.empty()) return process.api(site.key) + " (no call stack)";
    std::string title = process.frames[stack.frames[stack.headline]].title();
    // The next frame too: what allocates is often a helper that many call.
    if (stack.headline + 1 < stack.frames.size())
        title += " ← " + process.frames[stack.frames[stack.headline + 1]].title();
    return title;
}

std::string key_of(const ProcessAnalysis& process, const accounts::Site& site, const NamedStack& stack, bool lines) {
    std::string key;
    for (const std::string& part : site_parts(process, stack, lines ? SiteDetail::Lines : SiteDetail::Names))
        key += part + '\n';
    // Without a stack, or with nothing but the driver's frames, only the call itself tells sites apart.
    return key.empty() ? '\n' + process.api(site.key) : key;
}

bool is_empty(const accounts::Site& site) {
    return site.allocated.count == 0 && site.left.count == 0 && site.at_peak.count == 0;
}

class Comparison {
public:
    Comparison(const ProcessAnalysis& before, const ProcessAnalysis& after, const Options& options)
        : options_(options), devices_(before, after) {
        result_.before = &before;
        result_.after = &after;
        add_totals(before, false);
        add_totals(after, true);
        add_sites(before, false);
        add_sites(after, true);
        add_devices(before, false);
        add_devices(after, true);
    }

    ProcessDiff result() && {
        for (auto& [place, quantity] : quantities_) {
            for (auto& [key, site] : sites_[place]) quantity.sites.push_back(std::move(site));
            sort(quantity);
            result_.quantities.push_back(std::move(quantity));
        }
        for (auto& [number, device] : device_sides_) result_.devices.push_back(device);
        return std::move(result_);
    }

private:
    using Place = std::pair<Quantity, uint8_t>;  // the device by A's number

    uint8_t number(uint8_t device, bool is_after) const { return is_after ? devices_.before_of(device) : device; }

    QuantityDiff& quantity_of(Quantity what, uint8_t device) {
        QuantityDiff& quantity = quantities_[{what, device}];
        quantity.quantity = what;
        quantity.device_before = device;
        quantity.device_after = devices_.after_of(device);
        return quantity;
    }

    void add_totals(const ProcessAnalysis& process, bool is_after) {
        for (const accounts::Total& total : process.accounts.totals) {
            QuantityDiff& quantity = quantity_of(total.quantity, number(total.device, is_after));
            (is_after ? quantity.after : quantity.before) = {total.left, total.peak, total.allocated};
        }
    }

    void add_sites(const ProcessAnalysis& process, bool is_after) {
        for (const accounts::Site& site : process.accounts.sites) {
            if (is_empty(site)) continue;
            const NamedStack& stack = process.stack(site.key.stack);
            const bool per_device = replay::counted_per_device(site.quantity());
            const Place place{site.quantity(), per_device ? number(site.key.device, is_after) : trace::kNoDevice};
            quantity_of(place.first, place.second);
            const std::string key = key_of(process, site, stack, options_.lines);
            SiteChange& change = sites_[place][key];
            change.key = key;
            if (change.title.empty()) change.title = short_title(process, site, stack);
            SiteSide& side = is_after ? change.after : change.before;
            if (side.sites++ == 0 && !stack.missing && !stack.frames.empty())
                side.place = process.frames[stack.frames[stack.headline]].place();
            add(side.amounts.left, site.left);
            add(side.amounts.peak, site.at_peak);
            add(side.amounts.allocated, site.allocated);
            side.failures += site.failures;
        }
    }

    void add_devices(const ProcessAnalysis& process, bool is_after) {
        const auto side_of = [&](uint8_t device) -> DeviceSide& {
            DeviceDiff& both = device_sides_[number(device, is_after)];
            both.device_before = number(device, is_after);
            both.device_after = devices_.after_of(both.device_before);
            return is_after ? both.after : both.before;
        };
        if (process.accounts.cut) return;  // these are of the whole recording
        for (const auto& [device, instant] : process.accounts.devices) {
            side_of(device).footprint_peak = instant.footprint_peak;
        }
        for (const accounts::BlockTable& table : process.accounts.blocks) {
            if (table.device == trace::kNoDevice) continue;
            DeviceSide& side = side_of(table.device);
            side.tensor_peak = table.all.allocated.bytes.peak;
            side.reserved_peak = table.all.reserved.bytes.peak;
            side.fragmentation = instant::peak_ratio(*side.tensor_peak, *side.reserved_peak);
            side.out_of_memory = table.out_of_memory;
            side.retries = table.retries;
        }
    }

    void sort(QuantityDiff& quantity) const {
        const auto order = [&](const SiteChange& site) {
            const Change by = change(quantity.quantity, site.before.amounts, site.after.amounts);
            switch (options_.sort) {
                case Sort::Peak:
                    return std::array{by.peak, by.left, by.allocated};
                case Sort::Allocated:
                    return std::array{by.allocated, by.left, by.peak};
                case Sort::Left:
                    break;
            }
            return std::array{by.left, by.peak, by.allocated};
        };
        // Every tie is broken, so that the same traces give the same answer.
        std::sort(quantity.sites.begin(), quantity.sites.end(), [&](const SiteChange& a, const SiteChange& b) {
            const auto order_a = order(a), order_b = order(b);
            return order_a != order_b ? order_a > order_b : a.key < b.key;
        });
    }

    const Options& options_;
    Devices devices_;
    ProcessDiff result_;
    std::map<Place, QuantityDiff> quantities_;
    std::map<Place, std::map<std::string, SiteChange>> sites_;
    std::map<uint8_t, DeviceDiff> device_sides_;
};

int64_t difference(uint64_t before, uint64_t after) {
    return static_cast<int64_t>(after - before);
}

void add_obstacles(Diff& diff, const Analysis& analysis, const char* side, const Processes& compared) {
    const auto say = [&](const std::string& reason) { diff.obstacles.push_back(std::string(side) + ": " + reason); };
    if (compared.empty()) say("no CUDA allocation was recorded: is this the job that was meant?");
    for (const ProcessAnalysis* process : compared) {
        if (process->end.running()) say(name_of(*process) + " is still running");
        for (const std::string& reason : obstacles_of(*process)) say(reason);
    }
    for (const std::string& warning : analysis.warnings) say(warning);
}

}  // namespace

Change change(Quantity quantity, const Amounts& before, const Amounts& after) {
    const auto by = [&](const Amount& a, const Amount& b) {
        return in_pieces(quantity) ? difference(a.count, b.count) : difference(a.bytes, b.bytes);
    };
    return {by(before.left, after.left), by(before.peak, after.peak), by(before.allocated, after.allocated)};
}

int64_t direction(const Change& change, Sort sort) {
    const int64_t wanted = sort == Sort::Peak ? change.peak : sort == Sort::Allocated ? change.allocated : change.left;
    if (wanted != 0) return wanted;
    if (change.left != 0) return change.left;
    return change.peak != 0 ? change.peak : change.allocated;
}

Diff compare(const Analysis& before, const Analysis& after, const Options& options) {
    Diff diff;
    diff.before = &before;
    diff.after = &after;
    diff.options = options;
    Processes a = with_memory(before, options.pid_a, "A"), b = with_memory(after, options.pid_b, "B");
    diff.others_before = a.size();
    diff.others_after = b.size();
    if (a.size() != b.size() || options.pid_a || options.pid_b) {
        keep_biggest(a);
        keep_biggest(b);
    }
    diff.others_before -= a.size();
    diff.others_after -= b.size();
    add_obstacles(diff, before, "A", a);
    add_obstacles(diff, after, "B", b);
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        diff.processes.push_back(Comparison(*a[i], *b[i], options).result());
    }
    return diff;
}

}  // namespace vramtrace::diff
