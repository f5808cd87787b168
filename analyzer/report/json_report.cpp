// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/json_report.h"

#include "analyzer/print/json_writer.h"
#include "analyzer/print/units.h"
#include "analyzer/report/json_sections.h"
#include "analyzer/report/phase_section.h"
#include "analyzer/report/verdict_section.h"

namespace vramtrace::report {

namespace {

using print::JsonWriter;

constexpr const char* kLossNames[] = {"ring_full",    "abandoned", "definition_full", "stack_nested",
                                      "stack_failed", "stopped",   "before_open",     "too_small"};

const char* end_name(trace::SourceStatus::End end) {
    switch (end) {
        case trace::SourceStatus::End::Running:
            return "running";
        case trace::SourceStatus::End::Exited:
            return "exited";
        case trace::SourceStatus::End::Signalled:
            return "signalled";
        case trace::SourceStatus::End::Exec:
            return "exec";
        case trace::SourceStatus::End::Vanished:
            return "vanished";
        case trace::SourceStatus::End::Unknown:
            break;
    }
    return "unknown";
}

void write_strings(JsonWriter& json, const char* key, const std::vector<std::string>& strings) {
    json.key(key).array();
    for (const std::string& text : strings) json.value(text);
    json.end();
}

void write_identity(JsonWriter& json, const ProcessAnalysis& process) {
    const trace::ProcessIdentity& identity = process.status.identity;
    json.member("pid", identity.pid).member("parent_pid", identity.parent_pid).member("host", identity.host);
    json.member("start_time", identity.start_time).member("boot_id", identity.boot_id);
    json.member("recording_started_realtime_ns", identity.open_realtime);
    json.member("title", process.facts.title());
    write_strings(json, "command", process.facts.command);
    json.member("executable", process.facts.executable).member("directory", process.facts.directory);
    json.key("end").object();
    json.member("how", end_name(process.end.how)).member("sentence", process.end.sentence());
    json.key("exit_code");
    const bool exited = process.end.how == trace::SourceStatus::End::Exited && process.end.value >= 0;
    const bool killed = process.end.how == trace::SourceStatus::End::Signalled && process.end.value >= 0;
    exited ? json.value(process.end.value) : json.null();
    json.key("signal");
    killed ? json.value(process.end.value) : json.null();
    json.key("max_rss_bytes");
    process.end.max_rss_bytes ? json.value(*process.end.max_rss_bytes) : json.null();
    json.end();
    const uint64_t end = process.end.time != 0 ? process.end.time : process.accounts.last.time;
    json.member("duration_ns", process.since_start(end));
    json.key("shown_at_ns");
    process.cut_at ? json.value(*process.cut_at) : json.null();
}

void write_recording(JsonWriter& json, const ProcessAnalysis& process) {
    json.key("recording").object();
    json.member("events", process.accounts.events).member("lost_events", process.lost_events());
    json.key("losses").object();
    for (size_t i = 0; i < std::size(kLossNames); ++i) json.member(kLossNames[i], process.status.losses[i]);
    json.member("missing_tickets", process.status.missing_tickets);
    json.end();
    json.key("judged_until_ns");
    const auto until = process.judged_until();
    until ? json.value(*until == 0 ? 0 : process.since_start(*until)) : json.null();
    json.key("paused_ns");
    const auto& paused = process.accounts.paused;
    paused ? json.value(process.since_start(paused->time)) : json.null();
    json.member("pauses", process.accounts.pauses).member("other_nvtx_tool", process.facts.other_nvtx_tool);
    json.member("driver_version", process.facts.driver_version).member("driver_path", process.facts.driver_path);
    json.member("vramtrace_version", process.facts.shim_version);
    write_strings(json, "runtimes", process.facts.runtimes);
    write_strings(json, "settings", process.facts.settings);
    write_strings(json, "frameworks", process.facts.frameworks);
    write_strings(json, "framework_paths", process.facts.framework_paths);
    write_strings(json, "allocator_settings", process.facts.allocator_settings);
    json.member("python", process.facts.python).member("python_frames", process.facts.python_frames);
    write_strings(json, "warnings", process.status.warnings);
    json.key("notes").array();
    for (const accounts::TextNote& note : process.accounts.notes) {
        json.object();
        json.member("kind", note.kind == trace::EventKind::BlindSpot          ? "blind_spot"
                            : note.kind == trace::EventKind::RecordingStopped ? "recording_stopped"
                                                                              : "unhooked");
        json.member("text", process.text(note.text)).member("count", note.count);
        json.member("time_ns", process.since_start(note.moment.time));
        json.end();
    }
    json.end();
    const accounts::Oddities& odd = process.accounts.oddities;
    json.key("oddities").object();
    json.member("unmatched_releases", odd.unmatched_releases).member("unmatched_uses", odd.unmatched_uses);
    json.member("refused_releases", odd.refused_releases).member("refused_unknown", odd.refused_unknown);
    json.member("context_lost", odd.context_lost).member("lost_frees", odd.lost_frees);
    json.member("unknown_events", odd.unknown_events).member("out_of_order", odd.out_of_order);
    json.end().end();
}

void write_process(JsonWriter& json, const ProcessReport& report) {
    json.object();
    write_identity(json, *report.process);
    write_recording(json, *report.process);
    write_cut(json, report);
    write_findings(json, report);
    write_tensors(json, report);
    write_leaks(json, report);
    write_devices(json, report);
    write_sites(json, report);
    write_phases(json, report);
    json.end();
}

}  // namespace

void write_json(std::ostream& out, const Report& report) {
    JsonWriter json(out);
    json.object()
        .member("schema_version", kReportSchema)
        .member("tool", "vramtrace")
        .member("trace", report.analysis->path);
    json.key("leak_summary").object();
    json.member("bytes", report.leaked.bytes).member("allocations", report.leaked.count).end();
    json.key("processes").array();
    for (const ProcessReport& process : report.processes) write_process(json, process);
    json.end();
    json.key("framework_detail").array();
    for (const DetailVariable& variable : report.analysis->framework_detail) {
        json.object().member("framework", variable.framework).member("name", variable.name);
        json.member("value", variable.value).member("by_user", variable.by_user).end();
    }
    json.end();
    json.member("processes_without_events", report.processes_without_events);
    write_strings(json, "warnings", report.analysis->warnings);
    write_strings(json, "symbol_problems", report.analysis->symbol_problems);
    json.end();
    out << '\n';
}

}  // namespace vramtrace::report
