// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <vector>

#include "simulator/ledger.h"
#include "simulator/machine.h"

namespace vramtrace::simulator {
namespace {

// Numbers above 2^53 are written as they are: readers that need them exactly read 64-bit integers.
void write_number(std::FILE* file, const char* name, uint64_t value, const char* after = ", ") {
    std::fprintf(file, "\"%s\": %llu%s", name, static_cast<unsigned long long>(value), after);
}

void write_tags(std::FILE* file, const char* name, int quantity, int device, int peak) {
    std::vector<vramtrace_sim_tag_bytes> tags(vramtrace_sim_bytes_by_tag(quantity, device, peak, nullptr, 0));
    vramtrace_sim_bytes_by_tag(quantity, device, peak, tags.data(), tags.size());
    std::fprintf(file, "\"%s\": [", name);
    const char* separator = "";
    for (const auto& entry : tags) {
        std::fprintf(file, "%s{\"tag\": %llu, \"bytes\": %llu}", separator, static_cast<unsigned long long>(entry.tag),
                     static_cast<unsigned long long>(entry.bytes));
        separator = ", ";
    }
    std::fputs("]", file);
}

void write_totals(std::FILE* file, int device) {
    const char* separator = "";
    std::fputs("\"totals\": [", file);
    for (int quantity = 0; quantity < VRAMTRACE_SIM_QUANTITY_COUNT; ++quantity) {
        vramtrace_sim_totals totals{};
        if (vramtrace_sim_get_totals(quantity, device, &totals) != 0 || totals.created_count == 0) {
            continue;
        }
        std::fprintf(file, "%s\n      {\"quantity\": \"%s\", ", separator, vramtrace_sim_kind_name(quantity));
        write_number(file, "live_bytes", totals.live_bytes);
        write_number(file, "live_count", totals.live_count);
        write_number(file, "peak_bytes", totals.peak_bytes);
        write_number(file, "peak_sequence", totals.peak_sequence);
        write_number(file, "created_count", totals.created_count);
        write_number(file, "created_bytes", totals.created_bytes);
        write_number(file, "ended_count", totals.ended_count);
        write_number(file, "ended_bytes", totals.ended_bytes);
        write_number(file, "with_owner_count", totals.with_owner_count);
        write_number(file, "with_owner_bytes", totals.with_owner_bytes);
        write_tags(file, "live_by_tag", quantity, device, 0);
        std::fputs(", ", file);
        write_tags(file, "peak_by_tag", quantity, device, 1);
        std::fputs("}", file);
        separator = ",";
    }
    std::fputs("]", file);
}

void write_device(std::FILE* file, int device) {
    vramtrace_sim_device_use use{};
    std::fprintf(file, "{\"device\": %d, ", device);
    if (vramtrace_sim_get_device_use(device, &use) == 0) {
        write_number(file, "total_bytes", use.total_bytes);
        write_number(file, "used_bytes", use.used_bytes);
        write_number(file, "peak_used_bytes", use.peak_used_bytes);
        write_number(file, "context_bytes", use.context_bytes);
        write_number(file, "pool_reserved_bytes", use.pool_reserved_bytes);
        write_number(file, "graph_reserved_bytes", use.graph_reserved_bytes);
        write_number(file, "pending_bytes", use.pending_bytes);
    }
    write_totals(file, device);
    std::fputs("}", file);
}

void write_live(std::FILE* file) {
    std::vector<vramtrace_sim_allocation> live(vramtrace_sim_live(nullptr, 0));
    vramtrace_sim_live(live.data(), live.size());
    const char* separator = "";
    std::fputs("\"live\": [", file);
    for (const auto& item : live) {
        std::fprintf(file, "%s\n    {\"kind\": \"%s\", \"api\": \"%s\", \"device\": %d, ", separator,
                     vramtrace_sim_kind_name(static_cast<int>(item.kind)), item.api, item.device);
        write_number(file, "sequence", item.sequence);
        write_number(file, "tag", item.tag);
        write_number(file, "address", item.address);
        write_number(file, "local_bytes", item.local_bytes);
        write_number(file, "extent_bytes", item.extent_bytes);
        write_number(file, "physical_bytes", item.physical_bytes);
        write_number(file, "context", item.context);
        write_number(file, "pool", item.pool, "}");
        separator = ",";
    }
    std::fputs("]", file);
}

void write_calls(std::FILE* file) {
    std::vector<vramtrace_sim_api_count> counts(vramtrace_sim_api_counts(nullptr, 0));
    counts.resize(std::min(counts.size(), vramtrace_sim_api_counts(counts.data(), counts.size())));
    const char* separator = "";
    std::fputs("\"calls\": [", file);
    for (const auto& count : counts) {
        std::fprintf(file, "%s\n    {\"name\": \"%s\", ", separator, count.name);
        write_number(file, "calls", count.calls);
        write_number(file, "successes", count.successes);
        write_number(file, "failures", count.failures);
        write_number(file, "injected", count.injected, "}");
        separator = ",";
    }
    std::fputs("]", file);
}

}  // namespace
}  // namespace vramtrace::simulator

using namespace vramtrace::simulator;

extern "C" int vramtrace_sim_dump(const char* path) {
    if (path == nullptr) {
        return EINVAL;
    }
    Machine& machine = Machine::get();
    const std::lock_guard lock(machine.mutex);
    std::FILE* file = std::fopen(path, "we");
    if (file == nullptr) {
        return errno;
    }
    std::fputs("{\"version\": 1, \"devices\": [", file);
    for (int device = VRAMTRACE_SIM_ALL_DEVICES; device < static_cast<int>(machine.devices.size()); ++device) {
        std::fputs(device == VRAMTRACE_SIM_ALL_DEVICES ? "\n    " : ",\n    ", file);
        write_device(file, device);
    }
    std::fputs("],\n  ", file);
    write_live(file);
    std::fputs(",\n  ", file);
    write_calls(file);
    std::fputs("}\n", file);
    const bool failed = std::ferror(file) != 0;
    return std::fclose(file) != 0 || failed ? EIO : 0;
}
