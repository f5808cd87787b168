// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "analyzer/report/json_sections.h"

namespace vramtrace::report {
namespace {

using accounts::BlockPool;
using accounts::BlockTable;
using accounts::Gauge;
using print::JsonWriter;

// As torch.cuda.memory_stats() names and nests it, in one flat object.
void write_gauge(JsonWriter& json, const std::string& name, const char* pool, const Gauge& gauge) {
    const std::string stem = name + "." + pool + ".";
    json.member((stem + "current").c_str(), gauge.current).member((stem + "peak").c_str(), gauge.peak);
    json.member((stem + "allocated").c_str(), gauge.gained).member((stem + "freed").c_str(), gauge.lost);
}

void write_pool(JsonWriter& json, const char* name, const BlockPool& pool) {
    write_gauge(json, "allocation", name, pool.allocated.count);
    write_gauge(json, "allocated_bytes", name, pool.allocated.bytes);
    write_gauge(json, "segment", name, pool.reserved.count);
    write_gauge(json, "reserved_bytes", name, pool.reserved.bytes);
    write_gauge(json, "active", name, pool.allocated.count);
    write_gauge(json, "active_bytes", name, pool.allocated.bytes);
    write_gauge(json, "inactive_split", name, pool.split.count);
    write_gauge(json, "inactive_split_bytes", name, pool.split.bytes);
}

void write_check(JsonWriter& json, const char* key, const ProcessAnalysis& process, const replay::SelfCheck& check) {
    json.key(key).object();
    json.member("compared", check.compared).member("differing", check.differing);
    json.member("framework_bytes", check.said).member("framework_peak_bytes", check.said_peak);
    json.member("difference_at_begin_bytes", check.at_begin).member("difference_at_last_bytes", check.last);
    json.key("changed_ns");
    check.changed != 0 ? json.value(process.since_start(check.first.time)) : json.null();
    json.end();
}

void write_segments(JsonWriter& json, const char* key, const instant::SegmentSummary& segments) {
    json.key(key).object();
    json.member("reserved_bytes", segments.reserved).member("live_bytes", segments.live);
    json.member("free_pieces", segments.holes.size()).member("largest_free_bytes", segments.largest_hole);
    json.member("releasable_bytes", segments.releasable);
    const auto ratio = instant::largest_hole_ratio(segments.holes);
    json.key("largest_hole_ratio");
    ratio ? json.value(*ratio) : json.null();
    json.end();
}

void write_table_of(JsonWriter& json, const ProcessAnalysis& process, const BlockTable& table) {
    json.key("memory_stats").object();
    write_pool(json, "all", table.all);
    if (table.state.device_said) {
        write_pool(json, "small_pool", table.small);
        write_pool(json, "large_pool", table.large);
    }
    json.member("num_ooms", table.out_of_memory).member("num_alloc_retries", table.retries);
    json.end();
    json.key("offloaded").object();
    json.member("bytes", table.state.offloaded_bytes).member("count", table.state.offloaded_count);
    json.member("segment_bytes", table.offloaded_segment_bytes).end();
    json.key("orphaned").object();
    json.member("bytes", table.state.orphaned_bytes).member("count", table.state.orphaned_count).end();
    json.member("framework_names_device", table.state.device_said);
    write_check(json, "check_allocated", process, table.state.allocated);
    write_check(json, "check_reserved", process, table.state.reserved);
}

}  // namespace

void write_tensors(JsonWriter& json, const ProcessReport& report) {
    const ProcessAnalysis& process = *report.process;
    const TensorReport& tensors = report.tensors;
    json.key("tensors").object();
    json.member("level", tensors.level).member("blocks_seen", tensors.any);
    json.key("left_by_quantity").object();
    for (const QuantityLeak& leak : tensors.by_quantity) {
        const std::string name(replay::quantity_name(leak.quantity));
        write_amount(json, name.c_str(), leak.amount);
    }
    json.end();
    write_table(json, "left", process, tensors.left, true);
    json.key("host");
    if (tensors.host_blocks != nullptr) {
        json.object();
        write_table_of(json, process, *tensors.host_blocks);
        json.end();
    } else {
        json.null();
    }
    const replay::OutsideBlocks& outside = process.accounts.outside;
    json.key("outside_cuda").object();
    json.member("blocks", outside.allocated_count).member("bytes", outside.allocated_bytes);
    json.member("live_bytes", outside.live_bytes).member("peak_bytes", outside.peak_bytes).end();
    write_table(json, "churn", process, tensors.churn, false);
    json.end();
}

void write_tensor_blocks(JsonWriter& json, const ProcessAnalysis& process, const DeviceReport& device) {
    json.key("tensor_blocks");
    if (device.blocks == nullptr) {
        json.null();
        return;
    }
    json.object();
    const bool any = device.tensor_total != nullptr;
    json.key("peak").object();
    json.member("bytes", any ? device.tensor_total->peak.bytes : 0);
    json.member("allocations", any ? device.tensor_total->peak.count : 0);
    json.member("time_ns", any ? process.since_start(device.tensor_total->peak_moment.time) : 0);
    write_table(json, "by_site", process, device.tensor_peak, false);
    json.end();
    write_table_of(json, process, *device.blocks);
    if (device.instant != nullptr && device.instant->segments) {
        json.key("segments").object();
        write_segments(json, "all", device.instant->segments->all);
        write_segments(json, "small_pool", device.instant->segments->small);
        write_segments(json, "large_pool", device.instant->segments->large);
        json.end();
    }
    json.end();
}

}  // namespace vramtrace::report
