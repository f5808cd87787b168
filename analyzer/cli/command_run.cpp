// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/exit_codes.h"
#include "analyzer/cli/framework_detail.h"
#include "analyzer/cli/gate_options.h"
#include "analyzer/cli/job.h"
#include "analyzer/cli/log.h"
#include "analyzer/cli/preload.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/read_trace.h"
#include "analyzer/cli/run_record.h"
#include "analyzer/cli/trace_directory.h"
#include "analyzer/kept_names.h"
#include "analyzer/print/printable.h"
#include "analyzer/print/units.h"
#include "trace/container/input_error.h"
#include "trace/container/process_watch.h"
#include "trace/trace_name.h"

namespace vramtrace::cli {

namespace {

namespace files = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kDrainPatience{10000};
constexpr milliseconds kCollectorGrace{1000};  // for a collector that was started at the job's last breath

constexpr char kNvtxTool[] = "NVTX_INJECTION64_PATH";

constexpr char kRunHelp[] = R"(Examples:
  vramtrace run ./train --epochs 3
  vramtrace run -o trace-%n -- mpirun -n 4 ./train     every process it starts is recorded
  VRAMTRACE_STACK_DEPTH=32 vramtrace run -- python train.py
  vramtrace run --check -- ./tests                     23 if it leaks, 24 if that cannot be judged

The job's standard output is untouched; one line on stderr at the end says where the trace is. The exit code is the job's;
if a signal killed the job, the same signal kills `run`. 125: vramtrace failed, 126: the command cannot be executed,
127: it was not found.)";

struct RunOptions {
    std::string directory;
    std::string library;
    bool quiet = false;
    bool overwrite = false;
    bool no_symbols = false;
    bool check = false;
    GateOptions gate;
    bool framework_detail = false;
    SymbolOptions symbols;
};

std::string rank_of_environment() {
    for (const char* name : {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK"}) {
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
    }
    return "0";
}

// %h %p %t %n in the name given with -o.
bool expand_name(std::string& name) {
    trace::ProcessIdentity identity = trace::this_machine();
    identity.pid = static_cast<uint32_t>(getpid());
    identity.open_realtime = static_cast<uint64_t>(time(nullptr)) * 1000000000;
    if (gethostname(identity.host, sizeof identity.host - 1) != 0) identity.host[0] = '\0';
    char buffer[4096];
    const size_t length =
        trace::expand_pattern(name.c_str(), identity, rank_of_environment().c_str(), buffer, sizeof buffer);
    if (length == 0) return false;
    name.assign(buffer, length);
    return true;
}

// The shim expands VRAMTRACE_DIR as a pattern; ours is a path.
std::string as_pattern(const std::string& path) {
    std::string pattern;
    for (const char byte : path) {
        pattern += byte;
        if (byte == '%') pattern += '%';
    }
    return pattern;
}

void wait_for_collector(const std::string& directory) {
    const auto start = steady_clock::now();
    auto seen = start;
    while (waits_to_be_drained(directory)) {
        const auto now = steady_clock::now();
        if (collector_at_work(directory)) seen = now;
        if (now - start > kDrainPatience || now - seen > kCollectorGrace) return;  // the report reads the ring itself
        std::this_thread::sleep_for(milliseconds(5));
    }
}

std::string shown_path(const std::string& directory) {
    std::error_code error;
    const files::path relative = files::proximate(directory, error);
    const std::string text = error || relative.string().rfind("..", 0) == 0 ? directory : relative.string();
    return text.find_first_of(" \t'\"\\$`") == std::string::npos ? text : "'" + text + "'";
}

std::string summary_line(const KeptNames& kept, const std::string& directory) {
    std::string text = shown_path(directory) + ": " + print::counted(kept.events, "event", "events") + " of " +
                       print::counted(kept.processes, "process", "processes") + ", " +
                       (kept.lost == 0 ? "none lost" : print::grouped(kept.lost) + " LOST") + ", hooks active";
    if (kept.processes_running != 0) text += ", " + print::grouped(kept.processes_running) + " still running";
    return text + "; next: vramtrace report " + shown_path(directory);
}

std::string nothing_line(const std::string& command) {
    const std::string obstacle = preload_obstacle(command);
    if (!obstacle.empty())
        return "no CUDA call was seen: " + print::printable(command) + " cannot be recorded, " + obstacle;
    return "no CUDA call was seen: neither " + print::printable(command) +
           " nor a process that it started allocated GPU memory, so there is no trace";
}

void say_end(const RunOptions& options, const Job& job, const std::string& directory, bool own_directory) {
    try {
        Progress progress("naming call stacks");
        const KeptNames kept = keep_names(directory, search_paths(options.symbols), !options.no_symbols,
                                          [&](uint64_t done, uint64_t total) { progress.show(done, total); });
        if (kept.events != 0 || kept.lost != 0) {
            if (!options.quiet) spdlog::info("{}", summary_line(kept, directory));
            return;
        }
    } catch (const trace::InputError& error) {
        if (holds_events(directory)) {
            spdlog::error("{}", error.what());
            return;
        }
    } catch (const std::exception& error) {
        spdlog::error("the trace is in {}, but its stacks could not be named: {}", directory, error.what());
        return;
    }
    if (!options.quiet) spdlog::info("{}", nothing_line(job.command[0]));
    if (!own_directory) return;
    std::error_code ignored;
    files::remove(directory + "/run.json", ignored);
    files::remove(directory, ignored);  // only if it is empty
}

// Closed when it fails: without a trace there is no verdict.
int judged(const RunOptions& options, const std::string& directory) {
    GateOptions gate = options.gate;
    gate.symbols = options.symbols;
    gate.no_symbols = options.no_symbols;
    if (!holds_events(directory)) {
        spdlog::error("cannot judge: no CUDA allocation was recorded");
        return kCannotJudge;
    }
    return run_gate(gate, directory, std::cerr);  // standard output is the job's
}

int run(const RunOptions& options, const std::vector<std::string>& command) {
    if (command.empty()) {
        spdlog::error("run needs a command: vramtrace run -- ./program ARGUMENTS");
        return kUsage;
    }
    if (options.check && !gate_is_sound(options.gate)) return kUsage;
    Job job;
    job.command = command;

    const Installation installation = find_installation(options.library);
    if (installation.library.empty()) {
        spdlog::error("libvramtrace.so is not there (looked in {}); is the installation complete?",
                      installation.looked_in);
        return kRunFailed;
    }
    std::error_code error;
    std::string why;
    const std::string preload = preloadable_path(installation.library, why);
    if (preload.empty()) {
        spdlog::error("{}", why);
        return kRunFailed;
    }

    const char* by_environment = std::getenv("VRAMTRACE_DIR");
    std::string directory = options.directory;
    if (directory.empty() && by_environment != nullptr) directory = by_environment;
    const bool named = !directory.empty();
    if (!named) directory = fresh_directory_name(command[0], getpid());
    if (named && !expand_name(directory)) {
        spdlog::error("'{}' is no pattern for a directory: %h, %p, %t, %n and %% are known", directory);
        return kUsage;
    }
    if (const Failed failed = prepare_directory(directory, options.overwrite)) {
        spdlog::error("{}", failed.sentence);
        return kRunFailed;
    }
    job.environment.emplace_back("LD_PRELOAD", preload_value(preload, std::getenv("LD_PRELOAD")));
    job.environment.emplace_back("VRAMTRACE_DIR", as_pattern(directory));
    // NVTX has room for one tool: whoever is named already stays (nsys, for one), and the report says so.
    if (const char* other = std::getenv(kNvtxTool); other == nullptr || *other == '\0')
        job.environment.emplace_back(kNvtxTool, preload);
    spdlog::debug("LD_PRELOAD={} VRAMTRACE_DIR={}", job.environment[0].second, job.environment[1].second);

    std::vector<ChosenVariable> detail;
    if (options.framework_detail) {
        detail = choose_framework_detail([](const char* name) { return std::getenv(name); });
    }
    for (const ChosenVariable& variable : detail) {
        if (!variable.by_user) job.environment.emplace_back(variable.name, variable.value);
        if (!options.quiet) spdlog::info("--framework-detail {}", print::printable(detail_line(variable)));
    }

    // mpirun -n 4 vramtrace run -o DIR …: the first one's record stays; how the others ended is known as far as it can be seen.
    const bool own_record = !other_job_runs(directory);
    const JobEnd end = run_job(job, [&](const JobEnd& begun) {
        if (own_record) write_run_record(directory, command, begun, true, detail);
    });
    let_signals_finish(end);
    if (end.start_error != 0) {
        spdlog::error("{}: {}", print::printable(command[0]), std::strerror(end.start_error));
        if (!named) files::remove(directory, error);
        end_like(end);
    }
    wait_for_collector(directory);
    if (own_record && !write_run_record(directory, command, end, false, detail))
        spdlog::warn("cannot write {}/run.json", directory);
    say_end(options, job, directory, !named);
    // The job's own failure says more than the gate's.
    if (options.check && end.signal == 0 && end.exit_code == 0) return judged(options, directory);
    end_like(end);
}

}  // namespace

void add_run(CLI::App& program, Chosen& chosen) {
    CLI::App* command = program.add_subcommand(
        "run", "Run a command and record its GPU memory:\n  vramtrace run [OPTIONS] [--] COMMAND [ARGUMENTS]");
    auto options = std::make_shared<RunOptions>();
    command->footer(framework_detail_help() + "\n" + kRunHelp);
    command
        ->add_option("-o,--output", options->directory,
                     "Trace directory; %h host, %p pid, %t seconds since 1970, %n rank (default $VRAMTRACE_DIR, else "
                     "vramtrace-COMMAND-PID)")
        ->type_name("DIR");
    command->add_flag("-q,--quiet", options->quiet, "No line at the end");
    command->add_flag("--overwrite", options->overwrite, "Remove a finished trace that lies in DIR");
    command->add_flag("--no-symbols", options->no_symbols, "Do not look up names of call stacks at the end");
    command->add_flag("--framework-detail", options->framework_detail,
                      "Set variables that make frameworks ask the driver for each buffer (see below); this changes how "
                      "the job allocates");
    command->add_option("--library", options->library, "The libvramtrace.so to preload")->type_name("FILE");
    command->add_flag("--check", options->check,
                      "Judge the trace as `check` does; if the job itself ended well, the exit code is the gate's");
    add_gate_options(*command, options->gate);
    add_symbol_options(*command, options->symbols);
    command->callback(
        [options, &chosen] { chosen.action = [options, &chosen] { return run(*options, chosen.tail); }; });
}

}  // namespace vramtrace::cli
