// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/exit_codes.h"
#include "analyzer/cli/log.h"
#include "analyzer/cli/read_trace.h"
#include "analyzer/cli/version.h"
#include "trace/container/input_error.h"

namespace vramtrace::cli {

namespace {

constexpr char kAbout[] =
    "Records every GPU memory allocation of an unmodified CUDA program with its call stack, and says what leaked, what "
    "made\n"
    "the peak, what is fragmented and why an allocation failed.";

constexpr char kExamples[] = R"(Examples:
  vramtrace run -- ./train --epochs 3      record a job; prints where the trace is
  vramtrace report                         what the newest trace says: leaks, peak, churn, failures
  vramtrace report -n 20 --by function     longer tables, rows grouped by function
  vramtrace report --json | jq .leak_summary
  vramtrace check --leaked-bytes 0         fail if a byte leaked (for CI)
  vramtrace diff before after              did the fix help: what grew, what shrank
  vramtrace doctor                         will it work here, and what will be seen

Without `run`: LD_PRELOAD=/path/to/libvramtrace.so VRAMTRACE_DIR=trace ./train, then `vramtrace report trace`.
Exit codes: 0 good, 1 failed, 2 usage, 3 no trace, 4 trace unreadable; `check`: 23 gate failed; `check`, `diff`: 24 cannot judge; `run` gives the
job's own (docs/exit-codes.md).)";

// `run` must not look into the job's command line: everything from the first word that is no option of run's own, or
// from "--" on, is the job's.
std::vector<std::string> split_tail(std::vector<std::string>& arguments, const CLI::App& run) {
    const auto start = std::find(arguments.begin(), arguments.end(), "run");
    const bool options_before =
        std::any_of(arguments.begin(), start, [](const std::string& word) { return word.empty() || word[0] != '-'; });
    if (start == arguments.end() || options_before) return {};
    for (auto it = start + 1; it != arguments.end(); ++it) {
        const bool marker = *it == "--";
        const bool option = it->size() > 1 && (*it)[0] == '-' && !marker;
        if (option) {
            const CLI::Option* known = run.get_option_no_throw(*it);
            if (known != nullptr && known->get_expected_max() > 0 && it + 1 != arguments.end()) ++it;
            continue;
        }
        std::vector<std::string> tail(marker ? it + 1 : it, arguments.end());
        arguments.erase(it, arguments.end());
        return tail;
    }
    return {};
}

}  // namespace

void add_symbol_options(CLI::App& command, SymbolOptions& options) {
    command
        .add_option("--debug-dir", options.debug_directories,
                    "Directory with separate debug files by build-id, may be given often (default /usr/lib/debug)")
        ->type_name("DIR")
        ->allow_extra_args(false);  // else it would take the trace for a second directory
    command.add_option("--sysroot", options.sysroot, "Look for the job's binaries below this directory")
        ->type_name("DIR");
    command.add_flag("--debuginfod", options.debuginfod, "Ask the servers in DEBUGINFOD_URLS for missing debug files");
    command.add_flag("--no-symbol-cache", options.no_cache,
                     "Neither use nor keep names of earlier traces in $XDG_CACHE_HOME/vramtrace");
}

int run_program(int argc, char** argv) {
    CLI::App program(kAbout, "vramtrace");
    program.footer(kExamples);
    program.set_version_flag("--version", std::string("vramtrace ") + kVersion);
    program.require_subcommand(1);
    bool verbose = false;
    program.add_flag("-v,--verbose", verbose, "Say more on stderr");
    Chosen chosen;
    add_run(program, chosen);
    add_report(program, chosen);
    add_check(program, chosen);
    add_diff(program, chosen);
    add_dump(program, chosen);
    add_symbolize(program, chosen);
    add_doctor(program, chosen);

    std::vector<std::string> arguments(argv + 1, argv + argc);
    chosen.tail = split_tail(arguments, *program.get_subcommand("run"));
    set_up_log(false);
    try {
        std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
        program.parse(arguments);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
        if (argc < 2) {
            std::cerr << program.help();
        } else {
            const auto word = std::find_if(argv + 1, argv + argc, [](const char* text) { return *text != '-'; });
            const bool no_command = program.get_subcommands().empty() && word != argv + argc;
            spdlog::error("{}; see vramtrace --help",
                          no_command ? "'" + std::string(*word) + "' is no command of vramtrace" : error.what());
        }
        return kUsage;
    }
    set_up_log(verbose);
    try {
        const int code = chosen.action();
        std::cout.flush();
        if (!std::cout) {
            spdlog::error("cannot write to standard output");
            return kFailed;
        }
        return code;
    } catch (const NoTrace& error) {
        spdlog::error("{}", error.what());
        return kNoTrace;
    } catch (const trace::InputError& error) {
        spdlog::error("{}", error.what());
        return kUnreadable;
    } catch (const std::bad_alloc&) {
        spdlog::error("out of memory");
    } catch (const std::exception& error) {
        spdlog::error("{}", error.what());
    }
    return kFailed;
}

}  // namespace vramtrace::cli
