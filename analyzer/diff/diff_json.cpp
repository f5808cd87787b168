// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/diff_json.h"

#include "analyzer/print/json_writer.h"

namespace vramtrace::diff {
namespace {

using accounts::Amount;
using print::JsonWriter;

constexpr int kSchema = 1;

void write_amount(JsonWriter& json, const char* key, const Amount& amount) {
    json.key(key).object().member("bytes", amount.bytes).member("count", amount.count).end();
}

void write_amounts(JsonWriter& json, const Amounts& amounts, const char* peak) {
    write_amount(json, "left", amounts.left);
    write_amount(json, peak, amounts.peak);
    write_amount(json, "allocated", amounts.allocated);
}

void write_change(JsonWriter& json, accounts::Quantity quantity, const Amounts& before, const Amounts& after,
                  const char* peak) {
    const Change by = change(quantity, before, after);
    json.key("change").object().member("left", by.left).member(peak, by.peak).member("allocated", by.allocated).end();
}

template <typename Value>
void write_optional(JsonWriter& json, const char* key, const std::optional<Value>& value) {
    json.key(key);
    value ? json.value(*value) : json.null();
}

void write_device(JsonWriter& json, const char* key, uint8_t device) {
    json.key(key);
    device == trace::kNoDevice ? json.null() : json.value(static_cast<unsigned>(device));
}

void write_site_side(JsonWriter& json, const char* key, const SiteSide& side) {
    json.key(key);
    if (side.sites == 0) {
        json.null();
        return;
    }
    json.object();
    write_amounts(json, side.amounts, "at_peak");
    json.member("place", side.place).member("call_sites", side.sites).member("failures", side.failures).end();
}

void write_quantity(JsonWriter& json, const QuantityDiff& quantity) {
    json.object().member("quantity", replay::quantity_name(quantity.quantity));
    json.member("unit", in_pieces(quantity.quantity) ? "pieces" : "bytes");
    write_device(json, "device_before", quantity.device_before);
    write_device(json, "device_after", quantity.device_after);
    json.key("before").object();
    write_amounts(json, quantity.before, "peak");
    json.end().key("after").object();
    write_amounts(json, quantity.after, "peak");
    json.end();
    write_change(json, quantity.quantity, quantity.before, quantity.after, "peak");
    json.key("sites").array();
    for (const SiteChange& site : quantity.sites) {
        json.object().member("title", site.title).member("key", site.key);
        json.member("state", site.is_new() ? "new" : site.is_gone() ? "gone" : "both");
        write_site_side(json, "before", site.before);
        write_site_side(json, "after", site.after);
        write_change(json, quantity.quantity, site.before.amounts, site.after.amounts, "at_peak");
        json.end();
    }
    json.end().end();
}

void write_device_side(JsonWriter& json, const char* key, const DeviceSide& side) {
    json.key(key).object();
    write_optional(json, "footprint_peak_bytes", side.footprint_peak);
    write_optional(json, "reserved_peak_bytes", side.reserved_peak);
    write_optional(json, "tensor_peak_bytes", side.tensor_peak);
    write_optional(json, "peak_ratio", side.fragmentation);
    write_optional(json, "framework_out_of_memory", side.out_of_memory);
    write_optional(json, "framework_retries", side.retries);
    json.end();
}

void write_process(JsonWriter& json, const char* key, const ProcessAnalysis& process) {
    json.key(key).object().member("pid", process.status.identity.pid).member("title", process.facts.title());
    json.member("end", process.end.sentence());
    json.member("events", process.accounts.events).member("lost_events", process.lost_events());
    json.member("failures", process.accounts.failures_total);
    json.member("failures_recovered", process.accounts.failures_recovered);
    json.member("framework_failures", process.accounts.framework_failures);
    json.key("phase");
    if (const auto& cut = process.accounts.cut) {
        json.object().member("name", cut->pattern).member("ranges", cut->ranges);
        json.member("duration_ns", cut->duration).end();
    } else {
        json.null();
    }
    json.end();
}

}  // namespace

void write_json(std::ostream& out, const Diff& diff) {
    JsonWriter json(out);
    json.object().member("tool", "vramtrace diff").member("schema_version", kSchema);
    json.member("before", diff.before->path).member("after", diff.after->path);
    json.member("lines", diff.options.lines).member("comparable", diff.obstacles.empty());
    json.key("obstacles").array();
    for (const std::string& reason : diff.obstacles) json.value(reason);
    json.end();
    json.member("others_before", diff.others_before).member("others_after", diff.others_after);
    json.key("processes").array();
    for (const ProcessDiff& process : diff.processes) {
        json.object();
        write_process(json, "before", *process.before);
        write_process(json, "after", *process.after);
        json.key("devices").array();
        for (const DeviceDiff& device : process.devices) {
            json.object();
            write_device(json, "device_before", device.device_before);
            write_device(json, "device_after", device.device_after);
            write_device_side(json, "before", device.before);
            write_device_side(json, "after", device.after);
            json.end();
        }
        json.end().key("quantities").array();
        for (const QuantityDiff& quantity : process.quantities) write_quantity(json, quantity);
        json.end().end();
    }
    json.end().end();
    out << '\n';
}

}  // namespace vramtrace::diff
