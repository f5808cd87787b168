// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/exit_codes.h"
#include "analyzer/cli/log.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/read_trace.h"
#include "analyzer/cli/trace_directory.h"
#include "analyzer/print/printable.h"
#include "analyzer/report/json_report.h"
#include "analyzer/report/text_report.h"

namespace vramtrace::cli {

namespace {

constexpr char kReportHelp[] = R"(Examples:
  vramtrace report                          the newest trace here, in one screen
  vramtrace report trace -n 50 --full       longer tables, whole call stacks
  vramtrace report --by module --sort count who allocates most often
  vramtrace report --pid 4711               one process of many
  vramtrace report --phase step/forward     what was allocated in this NVTX range or marker (docs/phases.md)
  vramtrace report --json > report.json     for programs (docs/report-json.md)
  vramtrace report --at 12.5                what was live 12.5 seconds after the start
  vramtrace report | grep '^LEAK SUMMARY'   N bytes in M allocations

Works on a running job too: it shows what is live now. What is left at the end of a process is memory that nobody gave
back before it ended; bytes of different quantities (device, managed, pinned) are listed apart.)";

struct ReportOptions {
    std::string trace;
    bool json = false;
    bool no_symbols = false;
    bool only_native = false, only_python = false;
    uint32_t pid = 0;
    std::optional<double> at;  // seconds
    std::string phase;
    report::Options report;
    SymbolOptions symbols;
};

const std::map<std::string, report::Sort> kSorts = {{"bytes", report::Sort::Bytes},
                                                    {"count", report::Sort::Count},
                                                    {"peak", report::Sort::Peak},
                                                    {"churn", report::Sort::Churn}};
const std::map<std::string, report::By> kGroups = {{"stack", report::By::Stack},       {"file", report::By::File},
                                                   {"function", report::By::Function}, {"module", report::By::Module},
                                                   {"api", report::By::Api},           {"device", report::By::Device},
                                                   {"thread", report::By::Thread}};

bool has_phase(const report::Report& built) {
    for (const report::ProcessReport& process : built.processes) {
        const auto& cut = process.process->accounts.cut;
        if (cut && cut->ranges != 0) return true;
    }
    return false;
}

std::string no_phase_sentence(const report::Report& built, const std::string& wanted) {
    constexpr size_t kNames = 12;
    std::string names;
    size_t shown = 0;
    for (const report::ProcessReport& process : built.processes) {
        for (const accounts::Phase& phase : process.process->accounts.phases.phases) {
            if (++shown > kNames) return "no phase matches '" + wanted + "'; there are " + names + " and others";
            names += (names.empty() ? "" : ", ") + print::printable(phase.path);
        }
    }
    if (names.empty()) return "no phase matches '" + wanted + "': the trace has none (docs/phases.md)";
    return "no phase matches '" + wanted + "'; there are " + names;
}

// Turns the name of a value into what CLI11 reads as that value; says which there are if it is none.
template <typename Values>
auto one_of(const Values& values) {
    return [&values](const std::string& text) {
        const auto found = values.find(text);
        if (found != values.end()) return std::to_string(static_cast<int>(found->second));
        std::string names;
        for (const auto& value : values) names += (names.empty() ? "" : ", ") + value.first;
        throw CLI::ValidationError("'" + text + "' is none of " + names);
    };
}

int report_trace(const ReportOptions& options) {
    AnalysisOptions wanted;
    wanted.path = existing_trace(trace_to_read(options.trace));
    wanted.symbols = search_paths(options.symbols);
    if (options.at) wanted.at = static_cast<uint64_t>(*options.at * 1e9);
    wanted.look_up_symbols = !options.no_symbols;
    if (options.only_native) wanted.shown = ShownFrames::Native;
    if (options.only_python) wanted.shown = ShownFrames::Python;
    wanted.read_twice = true;
    if (!options.phase.empty()) wanted.phase = options.phase;
    Analysis analysis;
    {
        Progress progress("reading");
        wanted.progress = [&](uint64_t done, uint64_t total) { progress.show(done, total); };
        analysis = analyze(wanted);
    }
    report::Options shown = options.report;
    if (options.pid != 0) shown.pid = options.pid;
    const report::Report built = report::build_report(analysis, shown);
    if (shown.pid && built.processes.empty()) {
        spdlog::error("{} has no process {}", analysis.path, *shown.pid);
        return kNoTrace;
    }
    if (wanted.phase && !has_phase(built)) {
        spdlog::error("{}", no_phase_sentence(built, options.phase));
        return kNoTrace;
    }
    if (options.json) {
        report::write_json(std::cout, built);
    } else {
        report::write_text(std::cout, built);
    }
    return kGood;
}

}  // namespace

void add_report(CLI::App& program, Chosen& chosen) {
    CLI::App* command =
        program.add_subcommand("report", "Say what a trace shows: leaks, peak, failures, fragmentation, churn");
    auto options = std::make_shared<ReportOptions>();
    command->footer(kReportHelp);
    command
        ->add_option("trace", options->trace, "Trace directory, or one process's file in it (default: the newest here)")
        ->type_name("TRACE");
    command->add_flag("--json", options->json, "Write JSON");
    command->add_option("-n,--limit", options->report.limit, "Rows of each table")
        ->check(
            [](const std::string& text) {
                const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
                const bool good = digits && text.find_first_not_of('0') != std::string::npos && text.size() < 10;
                return good ? std::string() : "'" + text + "' is no number of rows from 1 on";
            },
            "")
        ->type_name("ROWS");
    command->add_option("--sort", options->report.sort, "Order of rows: bytes, count, peak or churn (default bytes)")
        ->transform(one_of(kSorts), "")
        ->type_name("KEY");
    command
        ->add_option("--by", options->report.by,
                     "What makes a row: stack, function, file, module, api, device or thread (default stack)")
        ->transform(one_of(kGroups), "")
        ->type_name("WHAT");
    command->add_flag("--full", options->report.full, "Whole call stacks, every process, every part of the device");
    CLI::Option* native =
        command->add_flag("--native", options->only_native, "Only native frames of stacks that have Python frames too");
    command->add_flag("--python", options->only_python, "Only Python frames of stacks that have any")->excludes(native);
    command->add_option("--pid", options->pid, "Only this process")->type_name("PID");
    command
        ->add_option("--at", options->at,
                     "Each process as it was that many seconds after its recording began: what was live, the tables")
        ->check(CLI::Range(0.0, 1e9))
        ->type_name("SECONDS");
    command
        ->add_option("--phase", options->phase,
                     "Only what belongs to these phases: NAME, OUTER/INNER, or with the shell's wildcards")
        ->type_name("NAME");
    command->add_flag("--no-symbols", options->no_symbols, "Only names kept in the trace");
    add_symbol_options(*command, options->symbols);
    command->callback([options, &chosen] { chosen.action = [options] { return report_trace(*options); }; });
}

}  // namespace vramtrace::cli
