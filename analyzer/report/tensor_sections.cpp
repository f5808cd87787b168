// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/tensor_sections.h"

#include "analyzer/print/printable.h"
#include "analyzer/print/text_table.h"
#include "analyzer/print/units.h"
#include "analyzer/report/text_sections.h"

namespace vramtrace::report {
namespace {

using accounts::BlockMetric;
using accounts::BlockPool;
using accounts::BlockTable;
using accounts::Gauge;
using print::Align;

std::string left(const ProcessReport& report, const Options& options) {
    const ProcessAnalysis& process = *report.process;
    const Table& table = report.tensors.left;
    const bool running = process.end.running();
    if (table.rows.empty()) {
        return running ? "\nTENSORS " + live_heading(process) + ": none\n" : "\nTENSORS LEFT AT THE END: none\n";
    }
    return (running ? "\nTENSORS " + live_heading(process) : std::string("\nTENSORS LEFT AT THE END")) +
           ", by call site\n" + left_rows(report, table, options, "tensor");
}

std::string peak(const ProcessReport& report, const DeviceReport& device, const Options& options) {
    const ProcessAnalysis& process = *report.process;
    if (device.tensor_total == nullptr || device.tensor_total->peak.bytes == 0) return {};
    const accounts::Total& total = *device.tensor_total;
    return "\nTENSOR PEAK of device " + std::to_string(device.device) + ": " + print::exact_bytes(total.peak.bytes) +
           " in " + print::counted(total.peak.count, "tensor", "tensors") + ", " +
           print::instant(process.since_start(total.peak_moment.time)) + " after the start\n" +
           peak_rows(process, device.tensor_peak, total.peak.bytes, options);
}

// torch.cuda.memory_summary()'s rows and columns.
class Summary {
public:
    explicit Summary(const BlockTable& blocks) : blocks_(blocks) {
        table_.header({"metric", "now", "peak", "allocated in all", "freed in all"});
    }

    void bytes(const char* name, BlockMetric BlockPool::*metric) {
        rows(
            name, [metric](const BlockPool& pool) { return (pool.*metric).bytes; }, print::bytes);
    }
    void count(const char* name, BlockMetric BlockPool::*metric) {
        rows(
            name, [metric](const BlockPool& pool) { return (pool.*metric).count; }, print::grouped);
    }
    std::string text() const { return table_.text(); }

private:
    template <typename Pick>
    void rows(const std::string& name, Pick&& pick, std::string (*spell)(uint64_t)) {
        const auto row = [&](const std::string& title, const Gauge& gauge) {
            table_.row({title, spell(gauge.current), spell(gauge.peak), spell(gauge.gained), spell(gauge.lost)});
        };
        row(name, pick(blocks_.all));
        // Only PyTorch keeps small and large blocks apart.
        if (!blocks_.state.device_said) return;
        row("  from large pool", pick(blocks_.large));
        row("  from small pool", pick(blocks_.small));
    }

    const BlockTable& blocks_;
    print::TextTable table_{{Align::Left, Align::Right, Align::Right, Align::Right, Align::Right}};
};

std::string differs(const ProcessAnalysis& process, const char* what, const replay::SelfCheck& check) {
    if (check.differing == 0) return {};
    const auto spelt = [](int64_t bytes) {
        return print::exact_bytes(static_cast<uint64_t>(bytes < 0 ? -bytes : bytes)) + (bytes < 0 ? " fewer" : " more");
    };
    std::string text = std::string("  NOTE: the framework itself counts ");
    if (check.at_begin != 0) {
        text += spelt(check.at_begin) + " " + what +
                " than the events add up to, from the first one on: recording began late";
        if (check.changed == 0) return text + "\n";
        text += "; and ";
    }
    return text + spelt(check.last) + " " + what + " at last than the events add up to; first at " +
           print::instant(process.since_start(check.first.time)) + ": events or segments are missing\n";
}

// Room inside the segments: what can be had without asking the driver, and how large a piece.
std::string holes(const DeviceReport& device) {
    if (device.instant == nullptr || !device.instant->segments) return {};
    const instant::SegmentSummary& all = device.instant->segments->all;
    if (all.reserved == 0) return {};
    uint64_t free_bytes = all.releasable;
    for (const uint64_t hole : all.holes) free_bytes += hole;
    std::string text = "  Free inside segments: " + print::bytes(free_bytes) + ", largest piece " +
                       print::bytes(all.largest_hole) + "; " + print::bytes(all.releasable) +
                       " in segments without a tensor (can go back to the driver)";
    if (!all.holes.empty()) {
        text += ", " + print::counted(all.holes.size(), "piece", "pieces") + " beside live tensors";
        if (const auto ratio = instant::largest_hole_ratio(all.holes)) {
            text += "; 1 − largest/total of these = " + std::to_string(*ratio).substr(0, 5);
        }
    }
    return text + "\n";
}

std::string memory(const ProcessReport& report, const DeviceReport& device) {
    if (device.blocks == nullptr || device.blocks->all.allocated.count.gained == 0) return {};
    const ProcessAnalysis& process = *report.process;
    const BlockTable& blocks = *device.blocks;
    const bool said = blocks.state.device_said;
    std::string text = "\nTENSOR MEMORY of device " + std::to_string(device.device) + ", " +
                       (process.end.at ? "at " + print::instant(*process.end.at) : "at the end") +
                       (said ? ", as torch.cuda.memory_summary() counts it\n" : "\n");
    if (said) {
        text += "  CUDA OOMs: " + print::grouped(blocks.out_of_memory) +
                "; cudaMalloc retries: " + print::grouped(blocks.retries) + "\n";
    } else {
        text += "  tf.config.experimental.get_memory_info('GPU:" + std::to_string(device.device) + "'): current " +
                std::to_string(blocks.all.allocated.bytes.current) + ", peak " +
                std::to_string(blocks.all.allocated.bytes.peak) + "\n";
    }
    Summary summary(blocks);
    summary.bytes("Allocated memory", &BlockPool::allocated);
    if (said) summary.bytes("Active memory", &BlockPool::allocated);
    summary.bytes("GPU reserved memory", &BlockPool::reserved);
    summary.bytes("Non-releasable memory", &BlockPool::split);
    summary.count("Allocations", &BlockPool::allocated);
    if (said) summary.count("Active allocs", &BlockPool::allocated);
    summary.count("GPU reserved segments", &BlockPool::reserved);
    summary.count("Non-releasable allocs", &BlockPool::split);
    text += summary.text();
    if (said) text += "  Active is allocated here: a tensor that waits for a stream after its free is not told of\n";
    text += holes(device);
    const replay::BlockState& state = blocks.state;
    if (state.offloaded_count != 0) {
        text += "  Offloaded: " + print::exact_bytes(state.offloaded_bytes) + " in " +
                print::counted(state.offloaded_count, "live tensor", "live tensors") + "; " +
                print::bytes(blocks.offloaded_segment_bytes) +
                " of their segments are unmapped, not on the device now\n";
    }
    if (state.orphaned_count != 0) {
        text += "  Orphaned: " + print::exact_bytes(state.orphaned_bytes) + " in " +
                print::counted(state.orphaned_count, "tensor whose segment", "tensors whose segments") +
                " went back to the driver while live\n";
    }
    return text + differs(process, "allocated", state.allocated) + differs(process, "reserved", state.reserved);
}

std::string elsewhere(const ProcessReport& report) {
    std::string text;
    if (const BlockTable* host = report.tensors.host_blocks; host != nullptr && host->all.allocated.count.gained != 0) {
        const BlockMetric& blocks = host->all.allocated;
        text += "  Pinned host pools: " + print::bytes(blocks.bytes.current) + " now, peak " +
                print::bytes(blocks.bytes.peak) + ", " + print::counted(blocks.count.gained, "block", "blocks") +
                " in all, in " + print::bytes(host->all.reserved.bytes.current) + " of pinned memory\n";
    }
    const replay::OutsideBlocks& outside = report.process->accounts.outside;
    if (outside.allocated_count != 0) {
        text += "  Not counted: " + print::counted(outside.allocated_count, "block", "blocks") +
                " outside CUDA memory (a framework's pool of ordinary host memory), peak " +
                print::bytes(outside.peak_bytes) + "\n";
    }
    return text.empty() ? text : "\nOTHER BLOCKS of the framework\n" + text;
}

}  // namespace

std::string tensor_level_line(const ProcessReport& report) {
    const std::string& level = report.tensors.level;
    return level.empty() ? "" : "  tensors  " + print::printable(level) + "\n";
}

std::string tensor_sections(const ProcessReport& report, const Options& options) {
    if (!report.tensors.any) return elsewhere(report);
    std::string text = left(report, options);
    for (const DeviceReport& device : report.devices) text += peak(report, device, options);
    for (const DeviceReport& device : report.devices) text += memory(report, device);
    text += elsewhere(report);
    if (!report.tensors.churn.rows.empty()) {
        text += "\nTENSOR CHURN, allocated and freed most often\n" + churn_rows(report.tensors.churn);
    }
    return text;
}

}  // namespace vramtrace::report
