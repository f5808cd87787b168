// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/site_rows.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyzer/opaque_arenas.h"

namespace vramtrace::report {

namespace {

using accounts::Amount;
using accounts::Site;

constexpr size_t kRowThreads = 16;

void add(Amount& sum, const Amount& part) {
    sum.count += part.count;
    sum.bytes += part.bytes;
}

const NamedFrame* headline(const ProcessAnalysis& process, const NamedStack& stack) {
    return stack.frames.empty() ? nullptr : &process.frames[stack.frames[stack.headline]];
}

std::string device_text(uint8_t device) {
    return device == trace::kNoDevice ? "host" : "device " + std::to_string(device);
}

std::string thread_text(const ProcessAnalysis& process, const Site& site) {
    if (site.threads.empty()) return "no thread known";
    if (site.threads.size() == 1 && !site.more_threads) return process.thread_name(site.threads[0]);
    std::string text = "threads";
    for (const uint32_t thread : site.threads) text += (text.back() == 's' ? " " : ", ") + std::to_string(thread);
    return site.more_threads ? text + ", …" : text;
}

std::string title_of(const ProcessAnalysis& process, const Site& site, By by) {
    const NamedStack& stack = process.stack(site.key.stack);
    const NamedFrame* frame = headline(process, stack);
    const std::string nowhere = "(no stack was recorded)";
    switch (by) {
        case By::Stack:
        case By::Function:
            return frame != nullptr ? frame->title() : nowhere;
        case By::File:
            return frame == nullptr ? nowhere : frame->file.empty() ? frame->module : frame->file;
        case By::Module:
            return frame != nullptr ? frame->module : nowhere;
        case By::Api:
            return process.api(site.key);
        case By::Device:
            return device_text(site.key.device);
        case By::Thread:
            return thread_text(process, site);
    }
    return nowhere;
}

// Sites with equal keys become one row. By stack, what was called counts as well.
std::string group_key(const ProcessAnalysis& process, const Site& site, By by, const std::string& title) {
    if (by != By::Stack) return title;
    return std::to_string(static_cast<int>(site.key.kind)) + '.' + std::to_string(site.key.device) + '.' +
           process.api(site.key) + '\n' + process.stack(site.key.stack).key_of_shown();
}

void merge_threads(Row& row, const std::vector<uint32_t>& threads, bool more) {
    row.more_threads |= more;
    for (const uint32_t thread : threads) {
        if (std::find(row.threads.begin(), row.threads.end(), thread) != row.threads.end()) continue;
        if (row.threads.size() < kRowThreads) {
            row.threads.push_back(thread);
        } else {
            row.more_threads = true;
        }
    }
}

std::string opaque_text(const ProcessAnalysis& process, const Site& site) {
    const OpaqueArena arena = opaque_arena(process, site);
    return arena.is_one() ? arena.sentence() : std::string();
}

void start_row(Row& row, const ProcessAnalysis& process, const Site& site, const std::string& title) {
    const NamedStack& stack = process.stack(site.key.stack);
    const NamedFrame* frame = headline(process, stack);
    row.title = title;
    row.place = frame != nullptr ? frame->place() : "";
    row.inside = stack.inside;
    row.opaque = opaque_text(process, site);
    row.kind = replay::kind_name(site.key.kind);
    row.api = process.api(site.key);
    row.device = site.key.device;
    row.stack = &stack;
    row.smallest = UINT64_MAX;
}

void keep_common(Row& row, const ProcessAnalysis& process, const Site& site) {
    const NamedStack& stack = process.stack(site.key.stack);
    const NamedFrame* frame = headline(process, stack);
    if (frame == nullptr || row.place != frame->place()) row.place.clear();
    if (row.inside != stack.inside) row.inside.clear();
    if (row.opaque != opaque_text(process, site)) row.opaque.clear();
    if (row.kind != replay::kind_name(site.key.kind)) row.kind = "several kinds";
    if (row.api != process.api(site.key)) row.api = "several calls";
    if (row.device != site.key.device) row.device = trace::kNoDevice;
    if (row.stack != nullptr && row.stack->key_of_shown() != stack.key_of_shown()) row.stack = nullptr;
}

void add_site(Row& row, const Site& site, const SiteEntry& entry) {
    const bool first = row.sites++ == 0;
    add(row.amount, entry.amount);
    add(row.live, site.live);
    add(row.allocated, site.allocated);
    add(row.at_peak, site.at_peak);
    row.own_peak_bytes = std::max(row.own_peak_bytes, site.own_peak.bytes);
    row.failures += site.failures;
    row.failures_recovered += site.failures_recovered;
    const accounts::Leak* leak = entry.leak;
    const accounts::Moment begin = leak != nullptr ? leak->first_birth : site.first;
    const accounts::Moment end = leak != nullptr ? leak->last_birth : site.last;
    if (first || begin.time < row.first.time) row.first = begin;
    if (first || end.time > row.last.time) row.last = end;
    row.largest = std::max(row.largest, leak != nullptr ? leak->largest : site.largest);
    if (leak != nullptr) {
        row.smallest = std::min(row.smallest, leak->smallest);
        add(row.in_flight, leak->in_flight);
        add(row.owner_destroyed, leak->owner_destroyed);
        add(row.unmapped, leak->unmapped);
        add(row.ended_with_context, leak->ended_with_context);
        add(row.segments, leak->segments);
        add(row.offloaded, leak->offloaded);
        if (leak->last_sign.time > row.last_sign.time) row.last_sign = leak->last_sign;
        if (!row.example || leak->example.bytes > row.example->bytes) row.example = leak->example;
        merge_threads(row, leak->threads, leak->more_threads);
    } else {
        merge_threads(row, site.threads, site.more_threads);
    }
    if (site.churned != 0) {
        // The median of several sites is that of the busiest one: medians do not add up.
        const bool busiest = site.churned > row.churned;
        row.lifetime_min = row.churned == 0 ? site.lifetime_min : std::min(row.lifetime_min, site.lifetime_min);
        row.lifetime_max = std::max(row.lifetime_max, site.lifetime_max);
        if (busiest) row.lifetime_median = site.lifetime_median;
        row.churned += site.churned;
    }
}

uint64_t weight(const Row& row, Sort sort) {
    switch (sort) {
        case Sort::Bytes:
            return row.amount.bytes;
        case Sort::Count:
            return row.amount.count;
        case Sort::Peak:
            return row.at_peak.bytes;
        case Sort::Churn:
            return row.churned;
    }
    return 0;
}

std::string frame_text(const ProcessAnalysis& process, const NamedStack& stack, size_t depth) {
    if (depth >= stack.frames.size()) return "";
    const NamedFrame& frame = process.frames[stack.frames[depth]];
    return frame.function.empty() ? frame.title() : frame.function + "  " + frame.place();
}

// Helpers that allocate for everybody ("device_buffer", "allocate<T>") give many rows one title: name the caller by which
// they differ.
void tell_apart(const ProcessAnalysis& process, std::vector<Row>& rows) {
    std::map<std::pair<std::string, std::string>, std::vector<Row*>> alike;
    for (Row& row : rows) {
        if (row.stack != nullptr && !row.stack->frames.empty()) alike[{row.title, row.place}].push_back(&row);
    }
    for (const auto& [name, group] : alike) {
        if (group.size() < 2) continue;
        for (Row* row : group) {
            for (size_t up = 1; row->stack->headline + up < row->stack->frames.size() && row->caller.empty(); ++up) {
                const std::string text = frame_text(process, *row->stack, row->stack->headline + up);
                const bool differs = std::any_of(group.begin(), group.end(), [&](const Row* other) {
                    return frame_text(process, *other->stack, other->stack->headline + up) != text;
                });
                if (differs) row->caller = text;
            }
        }
    }
}

}  // namespace

Table site_table(const ProcessAnalysis& process, const std::vector<SiteEntry>& entries, const Options& options,
                 size_t limit) {
    Table table;
    std::unordered_map<std::string, size_t> groups;
    for (const SiteEntry& entry : entries) {
        const Site& site = process.accounts.sites[entry.site];
        const std::string title = title_of(process, site, options.by);
        const auto [at, fresh] = groups.try_emplace(group_key(process, site, options.by, title), table.rows.size());
        if (fresh) {
            table.rows.emplace_back();
            start_row(table.rows.back(), process, site, title);
        } else {
            keep_common(table.rows[at->second], process, site);
        }
        add_site(table.rows[at->second], site, entry);
        add(table.total, entry.amount);
    }
    // Every tie is broken, so that the same trace gives the same report.
    std::sort(table.rows.begin(), table.rows.end(), [&](const Row& a, const Row& b) {
        const uint64_t weight_a = weight(a, options.sort);
        const uint64_t weight_b = weight(b, options.sort);
        if (weight_a != weight_b) return weight_a > weight_b;
        if (a.amount.bytes != b.amount.bytes) return a.amount.bytes > b.amount.bytes;
        if (a.amount.count != b.amount.count) return a.amount.count > b.amount.count;
        if (a.first.ticket != b.first.ticket) return a.first.ticket < b.first.ticket;
        return a.title < b.title;
    });
    if (table.rows.size() > limit) {
        for (size_t i = limit; i < table.rows.size(); ++i) add(table.hidden, table.rows[i].amount);
        table.hidden_rows = table.rows.size() - limit;
        table.rows.resize(limit);
    }
    for (Row& row : table.rows) {
        if (row.smallest == UINT64_MAX) row.smallest = 0;
    }
    if (options.by == By::Stack) tell_apart(process, table.rows);
    return table;
}

}  // namespace vramtrace::report
