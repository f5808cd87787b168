// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/phase_section.h"

#include "analyzer/print/printable.h"
#include "analyzer/print/text_table.h"
#include "analyzer/print/units.h"

namespace vramtrace::report {

namespace {

using accounts::Amount;
using accounts::Phase;
using accounts::PhaseSum;
using print::Align;
using print::JsonWriter;

constexpr size_t kNameColumns = 48;

std::string quantity_text(const PhaseSum& sum) {
    std::string text(replay::quantity_name(sum.quantity));
    if (sum.device != trace::kNoDevice && sum.device != 0) text += " " + std::to_string(sum.device);
    return text;
}

bool worth_a_row(const PhaseSum& sum) {
    return sum.quantity != accounts::Quantity::AddressSpace && (sum.allocated.count != 0 || sum.freed.count != 0);
}

std::string signed_change(int64_t change) {
    return (change > 0 ? "+" : "") + print::signed_bytes(change);
}

void write_amount(JsonWriter& json, const char* key, const Amount& amount) {
    json.key(key).object().member("bytes", amount.bytes).member("count", amount.count).end();
}

void write_quantity(JsonWriter& json, uint8_t device, accounts::Quantity quantity) {
    json.key("device");
    device == trace::kNoDevice ? json.null() : json.value(static_cast<unsigned>(device));
    json.member("quantity", replay::quantity_name(quantity));
}

void write_sum(JsonWriter& json, const ProcessAnalysis& process, const PhaseSum& sum) {
    json.object();
    write_quantity(json, sum.device, sum.quantity);
    json.member("change_bytes", sum.change).member("least_change_bytes", sum.least_change);
    json.member("greatest_change_bytes", sum.greatest_change);
    json.member("peak_bytes", sum.peak).member("peak_ns", process.since_start(sum.peak_moment.time));
    json.member("rise_bytes", sum.rise);
    write_amount(json, "allocated", sum.allocated);
    write_amount(json, "freed", sum.freed);
    write_amount(json, "survivors", sum.survivors);
    write_amount(json, "left", sum.left);
    json.end();
}

void write_occurrence(JsonWriter& json, const ProcessAnalysis& process, const accounts::PhaseOccurrence& occurrence) {
    json.object().member("number", occurrence.number).member("thread", occurrence.thread);
    json.member("id", occurrence.id).member("open", occurrence.open);
    json.member("begin_ns", process.since_start(occurrence.begin.time));
    json.member("end_ns", process.since_start(occurrence.end.time));
    json.member("begin_monotonic_ns", occurrence.begin.time);
    json.key("amounts").array();
    for (const accounts::PhaseAmounts& amounts : occurrence.amounts) {
        json.object();
        write_quantity(json, amounts.device, amounts.quantity);
        json.member("live_begin_bytes", amounts.live_begin).member("live_end_bytes", amounts.live_end);
        json.member("peak_bytes", amounts.peak).member("peak_ns", process.since_start(amounts.peak_moment.time));
        write_amount(json, "allocated", amounts.allocated);
        write_amount(json, "freed", amounts.freed);
        write_amount(json, "survivors", amounts.survivors);
        json.end();
    }
    json.end().end();
}

}  // namespace

std::string phase_section(const ProcessReport& report) {
    const accounts::PhaseTable& phases = report.process->accounts.phases;
    if (phases.phases.empty() && phases.unmatched_ends == 0) return {};
    std::string text = "\nPHASES, windows of time of the whole process: what any thread allocates meanwhile counts\n";
    print::TextTable table({Align::Left, Align::Right, Align::Right, Align::Left, Align::Right, Align::Right,
                            Align::Right, Align::Right, Align::Right});
    table.header({"phase", "times", "time", "memory", "change", "peak", "rise", "allocated", "left"});
    for (const Phase* phase : report.phases) {
        std::string name = print::shortened(print::printable(phase->path), kNameColumns);
        std::string times = print::grouped(phase->occurrences);
        std::string duration = print::duration(phase->duration);
        for (const PhaseSum& sum : phase->sums) {
            if (!worth_a_row(sum)) continue;
            table.row({name, times, duration, quantity_text(sum), signed_change(sum.change), print::bytes(sum.peak),
                       print::bytes(sum.rise), print::bytes(sum.allocated.bytes), print::bytes(sum.left.bytes)});
            name = times = duration = "";
        }
        if (!name.empty()) table.row({name, times, duration, "untouched"});
    }
    text += table.text();
    if (report.hidden_phases != 0)
        text += "  … and " + print::counted(report.hidden_phases, "more phase", "more phases") + "; --full shows all\n";
    if (phases.unmatched_ends != 0) {
        text += "  note: " + print::counted(phases.unmatched_ends, "end belongs", "ends belong") +
                " to no range that is known: begun before the trace was, or one pop too many\n";
    }
    if (phases.not_measured != 0) {
        text += "  note: " + print::counted(phases.not_measured, "range was", "ranges were") +
                " not measured: too many open at once\n";
    }
    if (phases.nameless != 0) {
        text += "  note: " + print::counted(phases.nameless, "range is", "ranges are") +
                " summed up as \"(other phases)\": too many different names\n";
    }
    if (phases.left_incomplete) text += "  note: \"left\" is incomplete: too many combinations of open phases\n";
    return text;
}

std::string cut_section(const ProcessReport& report) {
    const ProcessAnalysis& process = *report.process;
    std::string text;
    if (const auto& cut = process.accounts.cut) {
        text += "  CUT to phase " + print::printable(cut->pattern) + ": " +
                print::counted(cut->ranges, "range", "ranges") + ", " + print::duration(cut->duration) +
                ". Call sites, what is left and churn are of what was born in it; peak and failures lie inside it;\n"
                "    the peak is of all that was live then\n";
    }
    if (process.accounts.paused) {
        text += "  RECORDING WAS OFF from " + print::instant(process.since_start(process.accounts.paused->time)) +
                " on: " +
                (process.setting("VRAMTRACE_START") == "" ? "the program had stopped it"
                                                          : "by VRAMTRACE_START or the program's stop()") +
                "; what was allocated since then is not here\n";
    } else if (process.accounts.pauses != 0) {
        text += "  note: recording was off " + print::counted(process.accounts.pauses, "time", "times") +
                " by the program's wish or VRAMTRACE_START; what was allocated then is not here\n";
    }
    if (process.too_small() != 0) {
        text += "  note: " + print::counted(process.too_small(), "allocation", "allocations") +
                " below VRAMTRACE_MIN_SIZE=" + print::printable(process.setting("VRAMTRACE_MIN_SIZE")) +
                " were not recorded: no sum here has them\n";
    }
    if (process.setting("VRAMTRACE_LEVEL") == "driver")
        text += "  note: driver level only, by VRAMTRACE_LEVEL: frameworks' blocks were not recorded\n";
    if (!process.facts.other_nvtx_tool.empty()) {
        text += "  note: NVTX ranges went to another tool, " + print::printable(process.facts.other_nvtx_tool) +
                ": they are no phases here\n";
    }
    return text;
}

void write_phases(JsonWriter& json, const ProcessReport& report) {
    const ProcessAnalysis& process = *report.process;
    const accounts::PhaseTable& phases = process.accounts.phases;
    json.key("phases").object();
    json.key("rows").array();
    for (const Phase& phase : phases.phases) {
        json.object().member("path", phase.path).member("depth", phase.depth);
        json.member("occurrences", phase.occurrences).member("open", phase.open);
        json.member("duration_ns", phase.duration).member("first_ns", process.since_start(phase.first.time));
        json.member("by_nvtx", phase.by_nvtx).member("by_marker", phase.by_marker);
        json.key("threads").array();
        for (const uint32_t thread : phase.threads) json.value(thread);
        json.end().member("more_threads", phase.more_threads);
        json.key("sums").array();
        for (const PhaseSum& sum : phase.sums) write_sum(json, process, sum);
        json.end();
        json.key("ranges").array();
        for (const accounts::PhaseOccurrence& occurrence : phase.kept) write_occurrence(json, process, occurrence);
        json.end().end();
    }
    json.end();
    json.member("marks", phases.marks).member("unmatched_ends", phases.unmatched_ends);
    json.member("not_measured", phases.not_measured).member("nameless", phases.nameless);
    json.member("left_incomplete", phases.left_incomplete).end();
}

void write_cut(JsonWriter& json, const ProcessReport& report) {
    const ProcessAnalysis& process = *report.process;
    json.key("cut");
    const auto& cut = process.accounts.cut;
    if (!cut) {
        json.null();
        return;
    }
    json.object().member("phase", cut->pattern).member("ranges", cut->ranges).member("windows", cut->windows);
    json.member("duration_ns", cut->duration).member("first_ns", process.since_start(cut->first.time));
    json.member("last_ns", process.since_start(cut->last.time)).end();
}

}  // namespace vramtrace::report
