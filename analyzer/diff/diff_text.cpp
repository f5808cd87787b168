// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/diff_text.h"

#include <algorithm>
#include <cstdio>

#include "analyzer/print/printable.h"
#include "analyzer/print/text_table.h"
#include "analyzer/print/units.h"

namespace vramtrace::diff {
namespace {

using accounts::Quantity;
using print::Align;

constexpr size_t kSiteColumns = 72;

std::string amount(Quantity quantity, const accounts::Amount& value) {
    return in_pieces(quantity) ? print::grouped(value.count) : print::bytes(value.bytes);
}

std::string changed(Quantity quantity, int64_t by) {
    if (by == 0) return "=";
    return (by > 0 ? "+" : "") + (in_pieces(quantity) ? print::grouped_signed(by) : print::signed_bytes(by));
}

std::string both(const std::string& before, const std::string& after) {
    return before == after ? after : before + " → " + after;
}

std::string device_text(uint8_t before, uint8_t after) {
    if (before == trace::kNoDevice) return "";
    return before == after ? " " + std::to_string(before)
                           : " " + std::to_string(before) + " → " + std::to_string(after);
}

std::string site_text(const SiteChange& site) {
    std::string text = site.is_new() ? "NEW " : site.is_gone() ? "GONE " : "";
    text += print::shortened(print::printable(site.title), kSiteColumns);
    const std::string places = site.is_new()    ? site.after.place
                               : site.is_gone() ? site.before.place
                                                : both(site.before.place, site.after.place);
    return places.empty() ? text : text + "  " + print::printable(places);
}

std::vector<std::string> cells(Quantity quantity, const Amounts& before, const Amounts& after) {
    const Change by = change(quantity, before, after);
    return {both(amount(quantity, before.left), amount(quantity, after.left)),
            changed(quantity, by.left),
            both(amount(quantity, before.peak), amount(quantity, after.peak)),
            changed(quantity, by.peak),
            both(amount(quantity, before.allocated), amount(quantity, after.allocated)),
            changed(quantity, by.allocated),
            both(print::grouped(before.allocated.count), print::grouped(after.allocated.count))};
}

void write_quantity(std::ostream& out, const QuantityDiff& quantity, const Options& options, size_t rows) {
    print::TextTable table({Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right,
                            Align::Right, Align::Left});
    table.header({"left", "change", "at peak", "change", "allocated", "change", "times", "call site"});
    const auto row = [&](const std::string& name, const Amounts& before, const Amounts& after) {
        std::vector<std::string> all = cells(quantity.quantity, before, after);
        all.push_back(name);
        table.row(all);
    };
    size_t grew = 0, shrank = 0, same = 0;
    for (const SiteChange& site : quantity.sites) {
        const int64_t by = direction(change(quantity.quantity, site.before.amounts, site.after.amounts), options.sort);
        ++(by > 0 ? grew : by < 0 ? shrank : same);
    }
    row("all", quantity.before, quantity.after);
    const size_t count = quantity.sites.size();
    const size_t grown = std::min(grew, rows), shrunk = std::min(shrank, rows);
    const auto site_row = [&](const SiteChange& site) {
        row(site_text(site), site.before.amounts, site.after.amounts);
    };
    for (size_t i = 0; i < grown; ++i) site_row(quantity.sites[i]);
    // What shrank most first.
    for (size_t i = 0; i < shrunk; ++i) site_row(quantity.sites[count - 1 - i]);
    std::string title(replay::quantity_name(quantity.quantity));
    title += device_text(quantity.device_before, quantity.device_after);
    out << '\n' << title << ": " << grew << " grew, " << shrank << " shrank, " << same << " the same\n" << table.text();
    if (grown < grew || shrunk < shrank)
        out << "  … and " << (grew - grown) << " more that grew, " << (shrank - shrunk)
            << " that shrank; -n shows more\n";
}

std::string ratio(const std::optional<double>& value) {
    if (!value) return "-";
    char text[16];
    std::snprintf(text, sizeof text, "%.1f %%", *value * 100);
    return text;
}

std::string size_text(const std::optional<uint64_t>& value) {
    return value ? print::bytes(*value) : "-";
}

std::string count_text(const std::optional<uint64_t>& value) {
    return value ? print::grouped(*value) : "-";
}

void write_device(std::ostream& out, const DeviceDiff& device) {
    const DeviceSide &a = device.before, &b = device.after;
    out << "  device" << device_text(device.device_before, device.device_after) << ": footprint peak "
        << both(size_text(a.footprint_peak), size_text(b.footprint_peak));
    if (a.reserved_peak || b.reserved_peak) {
        out << ", tensor peak " << both(size_text(a.tensor_peak), size_text(b.tensor_peak)) << ", reserved peak "
            << both(size_text(a.reserved_peak), size_text(b.reserved_peak))
            << ",\n    peak ratio (1 - tensor peak / reserved peak) "
            << both(ratio(a.fragmentation), ratio(b.fragmentation)) << ", out of memory "
            << both(count_text(a.out_of_memory), count_text(b.out_of_memory)) << ", retries "
            << both(count_text(a.retries), count_text(b.retries));
    }
    out << '\n';
}

void write_side(std::ostream& out, const char* side, const Analysis& analysis, const ProcessAnalysis& process) {
    out << side << "  " << print::printable(process.facts.title()) << " (pid " << process.status.identity.pid << "), "
        << process.end.sentence() << "  " << print::printable(analysis.path);
    if (const auto& cut = process.accounts.cut) {
        out << "\n   phase " << print::printable(cut->pattern) << ": " << print::counted(cut->ranges, "range", "ranges")
            << ", " << print::duration(cut->duration);
    }
    out << '\n';
}

bool untouched(const QuantityDiff& quantity) {
    return change(quantity.quantity, quantity.before, quantity.after).none() &&
           std::all_of(quantity.sites.begin(), quantity.sites.end(), [&](const SiteChange& site) {
               return change(quantity.quantity, site.before.amounts, site.after.amounts).none();
           });
}

}  // namespace

void write_text(std::ostream& out, const Diff& diff, size_t rows) {
    for (const std::string& reason : diff.obstacles) out << "CANNOT COMPARE: " << print::printable(reason) << '\n';
    for (const ProcessDiff& process : diff.processes) {
        if (&process != &diff.processes.front()) out << '\n';
        write_side(out, "A", *diff.before, *process.before);
        write_side(out, "B", *diff.after, *process.after);
        for (const DeviceDiff& device : process.devices) write_device(out, device);
        const accounts::Accounts &a = process.before->accounts, &b = process.after->accounts;
        out << "  failed requests " << both(print::grouped(a.failures_total), print::grouped(b.failures_total))
            << " (recovered " << both(print::grouped(a.failures_recovered), print::grouped(b.failures_recovered))
            << "), lost events "
            << both(print::grouped(process.before->lost_events()), print::grouped(process.after->lost_events()))
            << '\n';
        std::string same;
        for (const QuantityDiff& quantity : process.quantities) {
            if (!untouched(quantity)) {
                write_quantity(out, quantity, diff.options, rows);
                continue;
            }
            same += (same.empty() ? "" : ", ") + std::string(replay::quantity_name(quantity.quantity)) +
                    device_text(quantity.device_before, quantity.device_after);
        }
        if (!same.empty()) out << "\nno change: " << same << '\n';
    }
    if (diff.others_before + diff.others_after != 0) {
        out << "\nnote: only the biggest process of each is compared; not shown: " << diff.others_before << " of A, "
            << diff.others_after << " of B (--pid-a, --pid-b)\n";
    }
}

}  // namespace vramtrace::diff
