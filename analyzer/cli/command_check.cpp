// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/exit_codes.h"
#include "analyzer/cli/gate_options.h"
#include "analyzer/cli/log.h"
#include "analyzer/cli/read_trace.h"
#include "analyzer/cli/trace_directory.h"

namespace vramtrace::cli {

namespace {

constexpr char kCheckHelp[] = R"(Examples:
  vramtrace check trace                          nothing may leak, nothing may grow
  vramtrace check --peak 8GiB --growth 0 trace   these rules and no others
  vramtrace check -c vramtrace.toml trace        rules and suppressions that a repository keeps
  vramtrace check --write-baseline known.json    what is known today …
  vramtrace check --baseline known.json          … and only what is new fails
  vramtrace check --phase eval trace             only what belongs to this phase (docs/phases.md)
  vramtrace run --check -- ./tests               the same in one go; fails if it could not judge

Exit codes: 0 all rules kept, 23 a rule broken, 24 the trace allows no verdict (no data, lost events, still running), 2 usage.)";

struct CheckOptions {
    std::string trace;
    GateOptions gate;
};

int check(const CheckOptions& options) {
    if (!gate_is_sound(options.gate)) return kUsage;
    try {
        return run_gate(options.gate, existing_trace(trace_to_read(options.trace)), std::cout);
    } catch (const NoTrace& error) {
        // A gate without data is no green gate.
        spdlog::error("cannot judge: {}", error.what());
        return kCannotJudge;
    }
}

}  // namespace

void add_check(CLI::App& program, Chosen& chosen) {
    CLI::App* command = program.add_subcommand("check", "Judge a trace by rules, for CI: the exit code is the verdict");
    auto options = std::make_shared<CheckOptions>();
    command->footer(kCheckHelp);
    command
        ->add_option("trace", options->trace, "Trace directory, or one process's file in it (default: the newest here)")
        ->type_name("TRACE");
    add_gate_options(*command, options->gate);
    command->add_option("--pid", options->gate.pid, "Only this process")->type_name("PID");
    command->add_flag("--running", options->gate.running,
                      "With --phase: judge a phase that has ended, although its process has not");
    command->add_flag("--no-symbols", options->gate.no_symbols, "Only names kept in the trace");
    add_symbol_options(*command, options->gate.symbols);
    command->callback([options, &chosen] { chosen.action = [options] { return check(*options); }; });
}

}  // namespace vramtrace::cli
