// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/exit_codes.h"
#include "analyzer/cli/log.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/read_trace.h"
#include "analyzer/cli/trace_directory.h"
#include "analyzer/diff/diff_json.h"
#include "analyzer/diff/diff_text.h"

namespace vramtrace::cli {

namespace {

constexpr char kDiffHelp[] = R"(Examples:
  vramtrace diff before after                        did the fix help: what grew, what shrank
  vramtrace diff --sort peak -n 20 before after      what the change of the peak is made of
  vramtrace diff --phase-a warmup --phase-b step trace  two phases of one run
  vramtrace diff --phase-a step --phase-b step before after  the same phase of two runs
  vramtrace diff --lines before after                a call site is another one when its line is
  vramtrace diff --json before after > diff.json     for programs (docs/diff.md)

Call sites are matched by the names of functions and files, so the source may have moved. Exit codes: 0 compared, whatever
came out, 24 one side allows no conclusion (no data, lost events, still running), 3 no such trace, process or phase, 2 usage.)";

struct DiffOptions {
    std::vector<std::string> traces;
    std::string phase_a, phase_b;
    uint32_t pid_a = 0, pid_b = 0;
    bool json = false, no_symbols = false;
    size_t rows = 10;
    diff::Options diff;
    SymbolOptions symbols;
};

const std::map<std::string, diff::Sort> kSorts = {
    {"left", diff::Sort::Left}, {"peak", diff::Sort::Peak}, {"allocated", diff::Sort::Allocated}};

Analysis analysed(const DiffOptions& options, const std::string& trace, const std::string& phase) {
    AnalysisOptions wanted;
    wanted.path = trace;
    wanted.symbols = search_paths(options.symbols);
    wanted.look_up_symbols = !options.no_symbols;
    if (!phase.empty()) wanted.phase = phase;
    Progress progress("reading");
    wanted.progress = [&](uint64_t done, uint64_t total) { progress.show(done, total); };
    return analyze(wanted);
}

bool has_phase(const Analysis& analysis) {
    for (const ProcessAnalysis& process : analysis.processes) {
        if (process.accounts.cut && process.accounts.cut->ranges != 0) return true;
    }
    return false;
}

int compare_traces(const DiffOptions& options) {
    const bool phases = !options.phase_a.empty() || !options.phase_b.empty();
    if (options.traces.size() < 2 && !(phases && options.phase_a != options.phase_b)) {
        spdlog::error("name two traces, or one and two of its phases (--phase-a, --phase-b)");
        return kUsage;
    }
    const std::string a = existing_trace(trace_to_read(options.traces.empty() ? "" : options.traces.front()));
    const std::string b = options.traces.size() < 2 ? a : existing_trace(options.traces.back());
    const Analysis before = analysed(options, a, options.phase_a);
    const Analysis after = analysed(options, b, options.phase_b);
    if (!options.phase_a.empty() && !has_phase(before)) {
        spdlog::error("A: no phase matches '{}' (vramtrace report lists them)", options.phase_a);
        return kNoTrace;
    }
    if (!options.phase_b.empty() && !has_phase(after)) {
        spdlog::error("B: no phase matches '{}' (vramtrace report lists them)", options.phase_b);
        return kNoTrace;
    }
    diff::Options wanted = options.diff;
    if (options.pid_a != 0) wanted.pid_a = options.pid_a;
    if (options.pid_b != 0) wanted.pid_b = options.pid_b;
    diff::Diff difference;
    try {
        difference = diff::compare(before, after, wanted);
    } catch (const std::invalid_argument& error) {
        spdlog::error("{}", error.what());
        return kNoTrace;
    }
    if (options.json) {
        diff::write_json(std::cout, difference);
    } else {
        diff::write_text(std::cout, difference, options.rows);
    }
    return difference.obstacles.empty() ? kGood : kCannotJudge;
}

}  // namespace

void add_diff(CLI::App& program, Chosen& chosen) {
    CLI::App* command = program.add_subcommand("diff", "Compare two traces, or two phases: what grew, what shrank");
    auto options = std::make_shared<DiffOptions>();
    command->footer(kDiffHelp);
    command
        ->add_option("traces", options->traces, "Two trace directories; one, or none for the newest here, with phases")
        ->type_name("A B")
        ->expected(0, 2);
    command->add_option("--phase-a", options->phase_a, "Of A only what belongs to phases of this name")
        ->type_name("NAME");
    command->add_option("--phase-b", options->phase_b, "Of B only what belongs to phases of this name")
        ->type_name("NAME");
    command
        ->add_option("--pid-a", options->pid_a,
                     "This process of A (default: all if both have as many, else the biggest)")
        ->type_name("PID");
    command->add_option("--pid-b", options->pid_b, "This process of B")->type_name("PID");
    command
        ->add_option("--sort", options->diff.sort,
                     "What must have changed most: left, peak or allocated (default left)")
        ->transform(
            [](const std::string& text) {
                const auto found = kSorts.find(text);
                if (found == kSorts.end())
                    throw CLI::ValidationError("'" + text + "' is none of allocated, left, peak");
                return std::to_string(static_cast<int>(found->second));
            },
            "")
        ->type_name("KEY");
    command->add_option("-n,--limit", options->rows, "Call sites that grew, and as many that shrank, of each quantity")
        ->check(CLI::Range(1, 1000000000))
        ->type_name("ROWS");
    command->add_flag("--lines", options->diff.lines,
                      "Lines, and offsets of code without names, tell call sites apart");
    command->add_flag("--json", options->json, "Write JSON: all call sites");
    command->add_flag("--no-symbols", options->no_symbols, "Only names kept in the trace");
    add_symbol_options(*command, options->symbols);
    command->callback([options, &chosen] { chosen.action = [options] { return compare_traces(*options); }; });
}

}  // namespace vramtrace::cli
