// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/text_sections.h"

#include <algorithm>

#include "analyzer/print/printable.h"
#include "analyzer/print/text_table.h"
#include "analyzer/print/units.h"
#include "analyzer/report/error_names.h"

namespace vramtrace::report {

namespace {

using accounts::Amount;
using accounts::Quantity;
using print::Align;

constexpr uint64_t kNotableSilence = 1000000000;  // ns

std::string allocations(uint64_t count) {
    return print::counted(count, "allocation", "allocations");
}

std::string on_device(uint8_t device) {
    return device == trace::kNoDevice ? "" : ", device " + std::to_string(device);
}

std::string times(const ProcessAnalysis& process, const Row& row) {
    const std::string first = print::instant(process.since_start(row.first.time));
    if (row.first == row.last) return "at " + first;
    return first + " … " + print::instant(process.since_start(row.last.time));
}

// Who allocated it, and whether that thread has been heard of since.
std::string threads_text(const ProcessAnalysis& process, const Row& row) {
    if (row.threads.empty()) return {};
    std::string text = row.threads.size() == 1 && !row.more_threads
                           ? process.thread_name(row.threads[0])
                           : std::to_string(row.threads.size()) + (row.more_threads ? " or more threads" : " threads");
    const uint64_t end = process.accounts.last.time;
    const uint64_t sign = row.last_sign.time;
    if (sign != 0 && end > sign && end - sign > kNotableSilence) {
        text += ", silent for the last " + print::duration(end - sign);
    }
    return ", " + text;
}

std::string plural(const std::string& noun) {
    if (noun == "library") return "libraries";
    return noun.size() > 6 && noun.compare(noun.size() - 6, 6, "memory") == 0 ? noun : noun + "s";
}

std::string leak_remarks(const Row& row) {
    std::string text;
    if (row.unmapped.count != 0) text += "; " + print::exact_bytes(row.unmapped.bytes) + " of it mapped nowhere";
    if (row.owner_destroyed.count != 0) {
        text += "; " + print::exact_bytes(row.owner_destroyed.bytes) + " of it outlived its pool or graph";
    }
    if (row.segments.count != 0) {
        text += row.segments == row.amount ? std::string("; segments that a framework keeps its tensors in")
                                           : "; " + print::exact_bytes(row.segments.bytes) +
                                                 " of it segments that a framework keeps its tensors in";
    }
    if (row.offloaded.count != 0) {
        text += "; " + print::exact_bytes(row.offloaded.bytes) + " of it offloaded: unmapped, not on the device now";
    }
    return text;
}

std::string framework_text(const accounts::FrameworkFailure& failure) {
    std::string text = ": " + print::exact_bytes(failure.bytes) + " asked for";
    if (failure.allocated != 0 || failure.reserved != 0) {
        text += ", allocated " + print::bytes(failure.allocated) + ", reserved " + print::bytes(failure.reserved);
    }
    return text;
}

}  // namespace

std::string left_rows(const ProcessReport& report, const Table& table, const Options& options, const char* noun) {
    const ProcessAnalysis& process = *report.process;
    const std::string nouns = std::string(noun) + "s";
    std::string text;
    for (const Row& row : table.rows) {
        text += "  " + print::exact_bytes(row.amount.bytes) + " in " +
                print::counted(row.amount.count, noun, nouns.c_str()) + ": " + what(row) + on_device(row.device) +
                "\n    " + times(process, row) + threads_text(process, row) + leak_remarks(row) + "\n";
        if (!row.opaque.empty()) text += "    " + row.opaque + "\n";
        if (row.stack != nullptr && options.by == By::Stack) {
            text += stack_lines(process, *row.stack, options, "      ");
        } else {
            text += "      " + where(row) + (row.sites > 1 ? "  (" + print::grouped(row.sites) + " call sites)" : "") +
                    "\n";
        }
    }
    return text + hidden_line(table, "  ", nouns.c_str());
}

std::string leak_section(const ProcessReport& report, const Options& options) {
    const ProcessAnalysis& process = *report.process;
    std::string text;
    if (report.leaks.rows.empty()) {
        text += process.end.running() ? "\n" + live_heading(process) + ": nothing\n" : "\nLEFT AT THE END: nothing\n";
    } else {
        text += process.end.running() ? "\n" + live_heading(process) +
                                            ", by call site (the process is running: nothing here is a leak yet)\n"
                                      : "\nLEFT AT THE END, by call site\n";
        text += left_rows(report, report.leaks, options, "allocation");
    }
    if (report.in_flight.count != 0) {
        text +=
            "  In flight when the process ended, not counted as left: " + print::exact_bytes(report.in_flight.bytes) +
            " in " + allocations(report.in_flight.count) + ".\n";
    }
    for (const Row& row : report.address_space.rows) {
        text += "  Reserved addresses (no memory) " + print::exact_bytes(row.amount.bytes) + " in " +
                print::counted(row.amount.count, "range", "ranges") + ": " + where(row) + "\n";
    }
    return text;
}

std::string peak_rows(const ProcessAnalysis& process, const Table& table, uint64_t peak, const Options& options) {
    print::TextTable lines({Align::Right, Align::Right, Align::Right, Align::Left});
    for (const Row& row : table.rows) {
        lines.row({print::bytes(row.amount.bytes), print::percent(row.amount.bytes, peak),
                   print::grouped(row.amount.count) + "×",
                   where(row) + by_call(row) + (row.opaque.empty() ? "" : "  [opaque arena]")});
        if (options.full && row.stack != nullptr) lines.lines(stack_lines(process, *row.stack, options, "      "));
    }
    return lines.text() + hidden_line(table, "  ", "allocations");
}

std::string peak_section(const ProcessReport& report, const Options& options) {
    const ProcessAnalysis& process = *report.process;
    std::string text;
    for (const DeviceReport& device : report.devices) {
        if (device.device_total == nullptr || device.device_total->peak.bytes == 0) continue;
        const accounts::Total& total = *device.device_total;
        text += "\nPEAK of device " + std::to_string(device.device) + ": " + print::exact_bytes(total.peak.bytes) +
                " in " + allocations(total.peak.count) + ", " +
                print::instant(process.since_start(total.peak_moment.time)) + " after the start\n";
        text += peak_rows(process, device.peak, total.peak.bytes, options);
    }
    std::string others;
    const auto other = [&](const accounts::Total* total) {
        if (total == nullptr || total->peak.bytes == 0) return;
        if (!others.empty()) others += "; ";
        others += std::string(replay::quantity_name(total->quantity)) + " " + print::bytes(total->peak.bytes) + " (" +
                  allocations(total->peak.count) + ")";
    };
    for (const DeviceReport& device : report.devices) other(device.managed_total);
    for (const accounts::Total* total : report.host_totals) other(total);
    if (!others.empty()) text += "  Other peaks: " + others + "\n";
    return text;
}

std::string device_section(const ProcessReport& report, const Options& options) {
    const ProcessAnalysis& process = *report.process;
    std::string text;
    for (const DeviceReport& device : report.devices) {
        if (device.instant == nullptr || device.instant->now.lines.empty()) continue;
        // What a phase left of the device is told by its peak: its end is not an instant that is kept.
        const bool cut = process.accounts.cut.has_value();
        const instant::Decomposition& now = cut ? device.instant->at_peak : device.instant->now;
        if (now.lines.empty()) continue;
        const bool worth =
            options.full || now.measured || (device.device_total != nullptr && device.device_total->live.count != 0);
        if (!worth) continue;
        text += "\nDEVICE " + std::to_string(device.device) + (cut ? " at the phase's peak" : " at the end") +
                ", where its bytes are";
        if (now.measured) {
            const uint64_t age = now.moment.time > now.sample.time ? now.moment.time - now.sample.time : 0;
            text += " (" + print::bytes(now.total_bytes) + " in all";
            if (age != 0) text += "; free as the driver said " + print::duration(age) + " before";
            text += ")";
        }
        text += "\n";
        print::TextTable table({Align::Right, Align::Left, Align::Left});
        for (const instant::Line& line : now.lines) {
            if (line.bytes == 0 && !options.full) continue;
            table.row({print::signed_bytes(line.bytes), std::string(instant::part_name(line.part)),
                       (line.estimate ? "estimate: " : "") + std::string(line.formula)});
        }
        text += table.text();
        const instant::HoleSummary& pages = device.instant->addresses.pages;
        if (pages.hole_bytes != 0 && !cut) {
            text += "  Fragmentation below the driver's 2 MiB page: " + print::bytes(pages.hole_bytes) + " in " +
                    print::counted(pages.holes, "hole", "holes") + " of " +
                    print::counted(pages.areas, "page", "pages") + ", largest " + print::bytes(pages.largest);
            if (pages.largest_hole_ratio) {
                text += "; 1 − largest/total = " + std::to_string(*pages.largest_hole_ratio).substr(0, 5);
            }
            text += "\n";
            const size_t limit = options.limit != 0 ? options.limit : 3;
            for (size_t i = 0; i < std::min(limit, device.instant->addresses.pinning.size()); ++i) {
                const instant::PinningSite& pinning = device.instant->addresses.pinning[i];
                const NamedStack& stack = process.stack(process.accounts.sites[pinning.site].key.stack);
                const std::string title = stack.frames.empty() ? "(no stack was recorded)"
                                                               : process.frames[stack.frames[stack.headline]].title();
                text += "    " + print::bytes(pinning.live_bytes) + " keep " +
                        print::counted(pinning.pages, "page", "pages") + " (" + print::bytes(pinning.page_bytes) +
                        "): " + print::printable(title) + "\n";
            }
        }
    }
    return text;
}

std::string churn_rows(const Table& table) {
    print::TextTable lines({Align::Right, Align::Right, Align::Right, Align::Left});
    lines.header({"allocations", "bytes in all", "median life", "where"});
    for (const Row& row : table.rows) {
        lines.row({print::grouped(row.allocated.count), print::bytes(row.allocated.bytes),
                   print::duration(row.lifetime_median), where(row) + by_call(row)});
    }
    return lines.text() + hidden_line(table, "  ", "allocations");
}

std::string churn_section(const ProcessReport& report) {
    if (report.churn.rows.empty()) return {};
    return "\nCHURN, allocated and freed most often\n" + churn_rows(report.churn);
}

std::string failure_section(const ProcessReport& report, const Options& options) {
    const ProcessAnalysis& process = *report.process;
    const accounts::Accounts& accounts = process.accounts;
    if (accounts.failures_total == 0) return {};
    std::string text = "\nFAILED CALLS: " + print::grouped(accounts.failures_total) + ", of which " +
                       print::grouped(accounts.failures_recovered) +
                       " recovered (the same thread got the same request later)\n";
    if (accounts.framework_failures != 0) {
        text += "  " + print::counted(accounts.framework_failures, "out-of-memory was", "out-of-memories were") +
                " raised in the job by its framework\n";
    }
    const size_t limit = options.limit != 0 ? options.limit : 3;
    size_t shown = 0;
    for (auto it = accounts.failures.rbegin(); it != accounts.failures.rend() && shown < limit; ++it, ++shown) {
        const accounts::Failure& failure = *it;
        const char* meaning = error_text(failure.result);
        const accounts::SiteKey& key = accounts.sites[failure.site].key;
        if (failure.framework_only) {
            text += "  " + print::instant(process.since_start(failure.moment.time)) +
                    "  framework's out of memory, without a refused driver call" + framework_text(*failure.framework) +
                    "\n" + stack_lines(process, process.stack(key.stack), options, "      ");
            continue;
        }
        text +=
            "  " + print::instant(process.since_start(failure.moment.time)) + "  " +
            print::printable(process.api(key)) +
            (failure.bytes != 0 ? " of " + print::exact_bytes(failure.bytes) : "") + ": error " +
            std::to_string(failure.result) + (meaning != nullptr ? std::string(" (") + meaning + ")" : "") +
            (failure.recovered ? ", recovered after " + print::duration(failure.recovered->time - failure.moment.time)
                               : "") +
            "\n    live then: device " + print::bytes(failure.live_device);
        if (failure.free_bytes && failure.total_bytes) {
            text += ", free " + print::bytes(*failure.free_bytes) + " of " + print::bytes(*failure.total_bytes);
        }
        if (failure.earlier_attempt) text += "; the framework asked again";
        if (failure.framework)
            text += "\n    raised as out of memory by the framework" + framework_text(*failure.framework);
        text += "\n" + stack_lines(process, process.stack(key.stack), options, "      ");
    }
    if (accounts.failures_total > shown) text += "  … the last " + print::grouped(shown) + " are shown\n";
    return text;
}

std::string refused_section(const ProcessReport& report, const Options& options) {
    const ProcessAnalysis& process = *report.process;
    const accounts::Accounts& accounts = process.accounts;
    if (accounts.refused_releases_total == 0) return {};
    std::string text = "\nREFUSED RELEASES: " + print::grouped(accounts.refused_releases_total) +
                       ": nothing was given back by these calls\n";
    const size_t limit = options.limit != 0 ? options.limit : 3;
    size_t shown = 0;
    for (const accounts::RefusedRelease& row : accounts.refused_releases) {
        if (shown++ == limit) break;
        const char* meaning = error_text(row.result);
        text += "  " + print::grouped(row.count) + " × " + print::printable(process.api(row.key)) + ": error " +
                std::to_string(row.result) + (meaning != nullptr ? std::string(" (") + meaning + ")" : "") +
                ", the last one of " + print::hex(row.example_address) + "\n";
        text += stack_lines(process, process.stack(row.key.stack), options, "      ");
    }
    if (accounts.refused_releases.size() > limit) {
        text += "  … " + print::counted(accounts.refused_releases.size() - limit, "more call site", "more call sites") +
                "\n";
    }
    return text;
}

std::string handle_section(const ProcessReport& report) {
    if (report.handles.rows.empty()) return {};
    std::string kinds;
    for (const KindCount& count : report.handle_kinds) {
        const std::string name(replay::kind_name(count.kind));
        kinds += (kinds.empty() ? "" : ", ") + print::counted(count.count, name.c_str(), plural(name).c_str());
        if (count.borrowed_bytes != 0) kinds += " (" + print::bytes(count.borrowed_bytes) + " of others' memory)";
    }
    std::string text = "\nOPEN HANDLES at the end: " + kinds + "\n";
    print::TextTable table({Align::Right, Align::Left, Align::Left});
    for (const Row& row : report.handles.rows)
        table.row({print::grouped(row.amount.count) + "×", what(row), where(row)});
    text += table.text();
    if (report.handles.hidden_rows != 0) {
        text += "  … and " + print::grouped(report.handles.hidden_rows) + " more call sites\n";
    }
    return text;
}

}  // namespace vramtrace::report
