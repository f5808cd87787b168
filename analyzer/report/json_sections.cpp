// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/json_sections.h"

#include <algorithm>

#include "analyzer/print/units.h"
#include "analyzer/report/error_names.h"

namespace vramtrace::report {

namespace {

using accounts::Amount;
using print::JsonWriter;

void write_device(JsonWriter& json, uint8_t device) {
    json.key("device");
    device == trace::kNoDevice ? json.null() : json.value(static_cast<unsigned>(device));
}

void write_optional(JsonWriter& json, const char* key, const std::optional<double>& value) {
    json.key(key);
    value ? json.value(*value) : json.null();
}

void write_stack(JsonWriter& json, const ProcessAnalysis& process, const NamedStack* stack) {
    json.key("stack");
    if (stack == nullptr || stack->frames.empty()) {
        json.array().end();
        return;
    }
    json.array();
    for (const uint32_t index : stack->frames) {
        const NamedFrame& frame = process.frames[index];
        json.object().member("function", frame.function).member("file", frame.file).member("line", frame.line);
        json.member("inlined", frame.inlined).member("module", frame.module).member("offset", print::hex(frame.offset));
        json.member("vendor", frame.vendor).member("python", frame.python);
        json.member("library", frame.owner != symbolize::Owner::Program).member("autograd_node", frame.node).end();
    }
    json.end();
    json.member("stack_truncated", stack->truncated).member("stack_incomplete", stack->incomplete);
    json.member("stack_merge_guessed", stack->guessed);
}

void write_row(JsonWriter& json, const ProcessAnalysis& process, const Row& row, bool leak) {
    json.object();
    json.member("title", row.title)
        .member("place", row.place)
        .member("caller", row.caller)
        .member("inside", row.inside)
        .member("opaque_arena", row.opaque);
    json.member("kind", row.kind).member("api", row.api);
    write_device(json, row.device);
    json.member("bytes", row.amount.bytes).member("count", row.amount.count).member("call_sites", row.sites);
    json.member("first_ns", process.since_start(row.first.time)).member("last_ns", process.since_start(row.last.time));
    json.member("largest_bytes", row.largest);
    if (leak) {
        json.member("smallest_bytes", row.smallest);
        write_amount(json, "owner_destroyed", row.owner_destroyed);
        write_amount(json, "unmapped", row.unmapped);
        write_amount(json, "ended_with_context", row.ended_with_context);
        write_amount(json, "in_flight", row.in_flight);
        write_amount(json, "segments", row.segments);
        write_amount(json, "offloaded", row.offloaded);
        json.member("last_sign_of_its_threads_ns", process.since_start(row.last_sign.time));
        if (row.example) json.member("example_address", print::hex(row.example->address));
    }
    json.key("threads").array();
    for (const uint32_t thread : row.threads) json.value(thread);
    json.end().member("more_threads", row.more_threads);
    write_amount(json, "allocated", row.allocated);
    write_amount(json, "live_at_end", row.live);
    write_amount(json, "at_peak", row.at_peak);
    json.member("freed", row.churned).member("lifetime_min_ns", row.lifetime_min);
    json.member("lifetime_median_ns", row.lifetime_median).member("lifetime_max_ns", row.lifetime_max);
    json.member("failures", row.failures).member("failures_recovered", row.failures_recovered);
    write_stack(json, process, row.stack);
    json.end();
}

void write_total(JsonWriter& json, const ProcessAnalysis& process, const accounts::Total& total) {
    json.object();
    write_device(json, total.device);
    json.member("quantity", replay::quantity_name(total.quantity));
    write_amount(json, "allocated", total.allocated);
    write_amount(json, "live_at_end", total.live);
    write_amount(json, "peak", total.peak);
    json.member("peak_ns", process.since_start(total.peak_moment.time));
    write_amount(json, "in_flight", total.in_flight);
    json.key("ended").object();
    for (size_t i = 0; i < replay::kEndings; ++i) {
        std::string name(replay::ending_name(static_cast<accounts::Ending>(i)));
        std::replace(name.begin(), name.end(), ' ', '_');
        write_amount(json, name.c_str(), total.ended[i]);
    }
    json.end().end();
}

void write_decomposition(JsonWriter& json, const char* key, const ProcessAnalysis& process,
                         const instant::Decomposition& made) {
    json.key(key).object();
    json.member("time_ns", process.since_start(made.moment.time)).member("measured", made.measured);
    json.member("total_bytes", made.total_bytes).member("used_bytes", made.used_bytes);
    json.member("sample_ns", process.since_start(made.sample.time)).key("parts").array();
    for (const instant::Line& line : made.lines) {
        json.object().member("part", instant::part_name(line.part)).member("bytes", line.bytes);
        json.member("estimate", line.estimate).member("formula", line.formula).end();
    }
    json.end().end();
}

void write_refused(JsonWriter& json, const ProcessAnalysis& process) {
    json.key("refused_releases").object();
    json.member("total", process.accounts.refused_releases_total).key("rows").array();
    for (const accounts::RefusedRelease& row : process.accounts.refused_releases) {
        const char* meaning = error_text(row.result);
        json.object().member("api", process.api(row.key)).member("result", row.result);
        json.member("meaning", meaning != nullptr ? meaning : "").member("count", row.count);
        json.member("first_ns", process.since_start(row.first.time))
            .member("last_ns", process.since_start(row.last.time));
        json.member("thread", row.thread).member("example_address", print::hex(row.example_address));
        write_stack(json, process, &process.stack(row.key.stack));
        json.end();
    }
    json.end().end();
}

void write_holes(JsonWriter& json, const char* key, const instant::HoleSummary& holes) {
    json.key(key).object();
    json.member("areas", holes.areas).member("area_bytes", holes.area_bytes).member("taken_bytes", holes.taken_bytes);
    json.member("holes", holes.holes)
        .member("hole_bytes", holes.hole_bytes)
        .member("largest_hole_bytes", holes.largest);
    write_optional(json, "largest_hole_ratio", holes.largest_hole_ratio);
    write_optional(json, "hole_dispersion", holes.hole_dispersion);
    json.end();
}

}  // namespace

void write_amount(JsonWriter& json, const char* key, const Amount& amount) {
    json.key(key).object().member("bytes", amount.bytes).member("count", amount.count).end();
}

void write_table(JsonWriter& json, const char* key, const ProcessAnalysis& process, const Table& table, bool leak) {
    json.key(key).object();
    write_amount(json, "total", table.total);
    json.key("rows").array();
    for (const Row& row : table.rows) write_row(json, process, row, leak);
    json.end();
    json.member("hidden_rows", table.hidden_rows);
    write_amount(json, "hidden", table.hidden);
    json.end();
}

void write_leaks(JsonWriter& json, const ProcessReport& report) {
    json.key("leak_summary").object();
    json.member("final", !report.process->end.running());
    json.member("bytes", report.leaked.bytes).member("allocations", report.leaked.count);
    json.key("by_quantity").object();
    for (const QuantityLeak& leak : report.by_quantity) {
        const std::string name(replay::quantity_name(leak.quantity));
        write_amount(json, name.c_str(), leak.amount);
    }
    json.end();
    write_amount(json, "kept_by_runtime", report.kept_by_runtime);
    write_amount(json, "in_flight", report.in_flight);
    json.end();
    write_table(json, "leaks", *report.process, report.leaks, true);
    write_table(json, "address_space", *report.process, report.address_space, true);
    write_table(json, "open_handles", *report.process, report.handles, true);
    json.key("handle_counts").array();
    for (const accounts::HandleCount& count : report.process->accounts.handles) {
        json.object().member("kind", replay::kind_name(count.kind));
        write_device(json, count.device);
        json.member("made", count.made)
            .member("live", count.live)
            .member("left", count.left)
            .member("most", count.most);
        json.member("borrowed_bytes", count.borrowed_bytes).end();
    }
    json.end();
}

void write_devices(JsonWriter& json, const ProcessReport& report) {
    const ProcessAnalysis& process = *report.process;
    json.key("devices").array();
    for (const DeviceReport& device : report.devices) {
        json.object().member("device", static_cast<unsigned>(device.device));
        json.member("name", device.facts != nullptr ? device.facts->name : "");
        json.member("uuid", device.facts != nullptr ? device.facts->uuid : "");
        json.member("total_bytes", device.facts != nullptr ? device.facts->total_bytes : 0);
        json.key("peak").object();
        const bool any = device.device_total != nullptr;
        json.member("bytes", any ? device.device_total->peak.bytes : 0);
        json.member("allocations", any ? device.device_total->peak.count : 0);
        json.member("time_ns", any ? process.since_start(device.device_total->peak_moment.time) : 0);
        write_table(json, "by_site", process, device.peak, false);
        json.end();
        write_tensor_blocks(json, process, device);
        if (device.instant != nullptr) {
            write_decomposition(json, "use_at_end", process, device.instant->now);
            write_decomposition(json, "use_at_peak", process, device.instant->at_peak);
            json.member("page_footprint_peak_bytes", device.instant->footprint_peak);
            json.key("fragmentation").object();
            write_holes(json, "pages", device.instant->addresses.pages);
            write_holes(json, "reservations", device.instant->addresses.reservations);
            json.key("pinning").array();
            for (const instant::PinningSite& pinning : device.instant->addresses.pinning) {
                const NamedStack& stack = process.stack(process.accounts.sites[pinning.site].key.stack);
                json.object();
                json.member("title", stack.frames.empty() ? "" : process.frames[stack.frames[stack.headline]].title());
                json.member("live_bytes", pinning.live_bytes).member("page_bytes", pinning.page_bytes);
                json.member("alone_bytes", pinning.alone_bytes).member("pages", pinning.pages).end();
            }
            json.end().end();
        }
        json.end();
    }
    json.end();
}

void write_sites(JsonWriter& json, const ProcessReport& report) {
    const ProcessAnalysis& process = *report.process;
    const accounts::Accounts& accounts = process.accounts;
    json.key("totals").array();
    for (const accounts::Total& total : accounts.totals) write_total(json, process, total);
    json.end();
    write_table(json, "churn", process, report.churn, false);
    json.key("failures").object();
    json.member("total", accounts.failures_total).member("recovered", accounts.failures_recovered);
    json.member("raised_by_framework", accounts.framework_failures);
    json.key("calls").array();
    for (const accounts::Failure& failure : accounts.failures) {
        const char* meaning = error_text(failure.result);
        const accounts::SiteKey& key = accounts.sites[failure.site].key;
        json.object();
        json.member("time_ns", process.since_start(failure.moment.time)).member("api", process.api(key));
        json.member("kind", replay::kind_name(key.kind)).member("thread", failure.thread);
        write_device(json, failure.device);
        json.member("result", failure.result)
            .member("meaning", meaning != nullptr ? meaning : "")
            .member("runtime_only", failure.runtime_only)
            .member("bytes", failure.bytes);
        json.member("live_device_bytes", failure.live_device);
        json.key("free_bytes");
        failure.free_bytes ? json.value(*failure.free_bytes) : json.null();
        json.key("total_bytes");
        failure.total_bytes ? json.value(*failure.total_bytes) : json.null();
        json.key("recovered_after_ns");
        failure.recovered ? json.value(failure.recovered->time - failure.moment.time) : json.null();
        json.member("earlier_attempt", failure.earlier_attempt).member("framework_only", failure.framework_only);
        json.key("framework");
        if (failure.framework) {
            json.object().member("bytes", failure.framework->bytes);
            json.member("allocated_bytes", failure.framework->allocated);
            json.member("reserved_bytes", failure.framework->reserved);
            json.member("time_ns", process.since_start(failure.framework->moment.time));
            write_stack(json, process, &process.stack(accounts.sites[failure.framework->site].key.stack));
            json.end();
        } else {
            json.null();
        }
        write_stack(json, process, &process.stack(key.stack));
        json.end();
    }
    json.end();
    write_table(json, "by_site", process, report.failures, false);
    write_refused(json, process);
    json.end();
}

}  // namespace vramtrace::report
