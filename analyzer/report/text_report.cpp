// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/text_report.h"

#include <algorithm>
#include <array>

#include "analyzer/print/printable.h"
#include "analyzer/print/units.h"
#include "analyzer/report/phase_section.h"
#include "analyzer/report/tensor_sections.h"
#include "analyzer/report/text_sections.h"
#include "analyzer/report/verdict_section.h"

namespace vramtrace::report {

namespace {

constexpr size_t kCommandColumns = 100;
constexpr size_t kProcessesInDetail = 8;

constexpr std::array<const char*, 7> kLossSentences = {
    "found no room in the ring",
    "were being written by a thread that died or stalled",
    "stacks or names found no room (the events are there)",
    "stacks were asked for inside a capture (the events are there)",
    "stacks could not be followed (the events are there)",
    "came after recording had stopped",
    "came before recording could begin",
};

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

uint64_t duration_of(const ProcessAnalysis& process) {
    const uint64_t end = process.end.time != 0 ? process.end.time : process.accounts.last.time;
    return process.since_start(end);
}

std::string summary_of_process(const ProcessReport& report) {
    return std::to_string(report.leaked.bytes) + " bytes in " + std::to_string(report.leaked.count) + " allocations";
}

// What the job ran on above CUDA, and what changes how that allocates.
std::string software_line(const ProcessAnalysis& process) {
    const ProcessFacts& facts = process.facts;
    std::string text;
    const auto add = [&text](const std::string& word) {
        text += (text.empty() ? "  software " : "; ") + print::printable(word);
    };
    for (const std::string& framework : facts.frameworks) add(framework);
    if (!facts.python.empty()) add(facts.python);
    if (!facts.python_frames.empty()) add("Python frames " + facts.python_frames);
    for (const std::string& setting : facts.allocator_settings) add(setting);
    return text.empty() ? text : text + "\n";
}

}  // namespace

std::string header_section(const ProcessReport& report) {
    const ProcessAnalysis& process = *report.process;
    const trace::ProcessIdentity& identity = process.status.identity;
    std::string text = print::printable(process.facts.title()) + " (pid " + std::to_string(identity.pid) + " on " +
                       print::printable(identity.host) + ") " + process.end.sentence() + ", recorded for " +
                       print::duration(duration_of(process)) + "\n";
    if (process.facts.command.size() > 1) {
        text +=
            "  command  " + print::shortened(print::printable(joined(process.facts.command)), kCommandColumns) + "\n";
    }
    const uint64_t lost = process.lost_events();
    text += "  trace    " + print::counted(process.accounts.events, "event", "events") + ", " +
            (lost == 0 ? "none lost" : print::grouped(lost) + " LOST") + "; hooks active";
    if (!process.facts.driver_version.empty()) text += " on driver " + print::printable(process.facts.driver_version);
    for (const auto& [ordinal, device] : process.facts.devices) {
        text += "; device " + std::to_string(ordinal) + ": " + print::printable(device.name) + ", " +
                print::bytes(device.total_bytes);
    }
    return text + "\n" + software_line(process);
}

std::string judgement_section(const ProcessReport& report) {
    const ProcessAnalysis& process = *report.process;
    std::string text;
    if (const auto until = process.judged_until()) {
        text += *until == 0 ? "  CANNOT JUDGE: events are missing, and nobody knows since when\n"
                            : "  CANNOT JUDGE after " + print::instant(process.since_start(*until)) +
                                  ": events are missing from there on\n";
    }
    for (size_t i = 0; i < kLossSentences.size(); ++i) {
        if (process.status.losses[i] == 0) continue;
        text += "    " + print::grouped(process.status.losses[i]) + " " + kLossSentences[i] + "\n";
    }
    if (process.status.missing_tickets != 0) {
        text += "    " + print::grouped(process.status.missing_tickets) +
                " are missing in the order of events, nobody knows why\n";
    }
    for (const accounts::TextNote& note : process.accounts.notes) {
        const char* what = note.kind == trace::EventKind::BlindSpot          ? "blind spot"
                           : note.kind == trace::EventKind::RecordingStopped ? "recording stopped"
                                                                             : "not hooked";
        text += std::string("  ") + what + ": " + print::printable(process.text(note.text)) + "\n";
    }
    for (const std::string& warning : process.status.warnings) text += "  note: " + print::printable(warning) + "\n";
    if (!process.facts.no_collector.empty()) {
        text += "  note: no collector could be started: " + print::printable(process.facts.no_collector) + "\n";
    }
    const accounts::Oddities& odd = process.accounts.oddities;
    const auto blocks = odd.unmatched_by_kind.find(trace::EventKind::BlockFree);
    const uint64_t unmatched_blocks = blocks != odd.unmatched_by_kind.end() ? blocks->second : 0;
    if (unmatched_blocks != 0) {
        text +=
            "  note: " + print::counted(unmatched_blocks, "tensor that was freed was", "tensors that were freed were") +
            " made before recording began\n";
    }
    const uint64_t unmatched = odd.unmatched_releases + odd.unmatched_uses - unmatched_blocks;
    if (unmatched != 0) {
        const bool left_out = process.too_small() != 0 || process.accounts.pauses != 0;
        text +=
            "  note: " + print::counted(unmatched, "release or map names", "releases or maps name") +
            (left_out ? " memory that was not recorded: too small, or made while recording was off or before it began\n"
                      : " memory that was made before recording began, or never\n");
    }
    if (odd.lost_frees != 0) {
        text += "  note: " + print::counted(odd.lost_frees, "free was", "frees were") +
                " never seen; the address was given out again, so the memory counts as freed\n";
    }
    if (odd.context_lost != 0) {
        text += "  note: " + print::counted(odd.context_lost, "free was", "frees were") +
                " refused because the context or driver had gone: counted as freed\n";
    }
    if (odd.unknown_events != 0) {
        text += "  note: " + print::counted(odd.unknown_events, "event is", "events are") +
                " of a kind this version does not know\n";
    }
    return text;
}

std::string summary_lines(const ProcessReport& report, bool several) {
    const ProcessAnalysis& process = *report.process;
    std::string text;
    for (const QuantityLeak& leak : report.by_quantity) {
        text += (process.end.running() ? "  LIVE " : "  LEFT ") + std::string(replay::quantity_name(leak.quantity)) +
                ": " + std::to_string(leak.amount.bytes) + " bytes in " + std::to_string(leak.amount.count) +
                " allocations\n";
    }
    for (const QuantityLeak& leak : report.tensors.by_quantity) {
        text += (process.end.running() ? "  LIVE " : "  LEFT ") + std::string(replay::quantity_name(leak.quantity)) +
                ": " + std::to_string(leak.amount.bytes) + " bytes in " + std::to_string(leak.amount.count) +
                " blocks, which lie in the memory above and are not counted again\n";
    }
    if (report.kept_by_runtime.bytes != 0) {
        text += "  Not counted: " + print::exact_bytes(report.kept_by_runtime.bytes) +
                " of static variables in modules that the CUDA runtime keeps to the end\n";
    }
    if (process.end.running()) {
        text += live_heading(process) + " in process " + std::to_string(process.status.identity.pid) + ": " +
                summary_of_process(report) + "\n";
    } else if (several) {
        text += "LEAK SUMMARY of process " + std::to_string(process.status.identity.pid) + ": " +
                summary_of_process(report) + "\n";
    }
    return text;
}

void write_text(std::ostream& out, const Report& report) {
    const Analysis& analysis = *report.analysis;
    for (const std::string& warning : analysis.warnings) out << "note: " << print::printable(warning) << "\n";
    if (!analysis.framework_detail.empty()) {
        out << "run with --framework-detail, which changes behaviour:";
        for (const DetailVariable& variable : analysis.framework_detail) {
            out << " " << print::printable(variable.name + "=" + variable.value)
                << (variable.by_user ? " (the user's)" : "");
        }
        out << "\n";
    }
    const bool several = report.processes.size() > 1;

    // Of many processes, those with the most left are told in full, the others in their lines.
    std::vector<const ProcessReport*> detailed;
    for (const ProcessReport& process : report.processes) detailed.push_back(&process);
    if (!report.options.full && detailed.size() > kProcessesInDetail) {
        std::stable_sort(detailed.begin(), detailed.end(), [](const ProcessReport* a, const ProcessReport* b) {
            return a->leaked.bytes > b->leaked.bytes;
        });
        detailed.resize(kProcessesInDetail);
    }
    const auto in_detail = [&](const ProcessReport& process) {
        return std::find(detailed.begin(), detailed.end(), &process) != detailed.end();
    };
    bool first = true;
    for (const ProcessReport& process : report.processes) {
        if (!first) out << "\n";
        first = false;
        out << header_section(process) << cut_section(process) << judgement_section(process)
            << tensor_level_line(process);
        if (in_detail(process)) {
            out << verdict_section(process, report.options) << tensor_sections(process, report.options)
                << leak_section(process, report.options) << peak_section(process, report.options)
                << failure_section(process, report.options) << refused_section(process, report.options)
                << device_section(process, report.options) << churn_section(process) << handle_section(process)
                << phase_section(process) << "\n";
        }
        out << summary_lines(process, several);
    }
    if (detailed.size() < report.processes.size()) {
        out << "\n"
            << report.processes.size() - detailed.size()
            << " processes are told in short; --full or --pid shows them\n";
    }
    if (report.processes.empty()) out << "No CUDA memory event was recorded.\n";
    for (const std::string& problem : analysis.symbol_problems) {
        out << "names: " << print::printable(problem) << "\n";
    }
    const auto running = std::count_if(report.processes.begin(), report.processes.end(),
                                       [](const ProcessReport& process) { return process.process->end.running(); });
    out << "LEAK SUMMARY: " << report.leaked.bytes << " bytes in " << report.leaked.count << " allocations";
    if (running != 0)
        out << " (" << print::counted(static_cast<uint64_t>(running), "process is", "processes are")
            << " still running and not counted)";
    out << "\n";
}

}  // namespace vramtrace::report
