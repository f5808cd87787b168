// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/gate_options.h"

#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "analyzer/cli/exit_codes.h"
#include "analyzer/cli/log.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/read_trace.h"
#include "analyzer/cli/version.h"
#include "analyzer/gate/amounts.h"
#include "analyzer/gate/results/results.h"
#include "trace/container/input_error.h"

namespace vramtrace::cli {

namespace {

constexpr char kDefaultFile[] = "vramtrace.toml";

enum class Unit { Bytes, Count, Share };
struct LimitOption {
    const char* name;
    Unit unit;
    const char* text;
};
constexpr std::array<LimitOption, 9> kLimits = {
    {{"leaked-bytes", Unit::Bytes, "Leaked memory in all"},
     {"leaked-allocations", Unit::Count, "Leaked allocations in all"},
     {"leaked-bytes-per-site", Unit::Bytes, "Leaked memory of one call site"},
     {"growth", Unit::Bytes, "Growth per iteration of one call site"},
     {"peak", Unit::Bytes, "Peak of device memory, each device"},
     {"peak-tolerance", Unit::Share, "By how much a device's peak may exceed the baseline's"},
     {"fragmentation", Unit::Share, "1 - peak live / footprint, each device"},
     {"failed-allocations", Unit::Count, "Refused allocations that were not recovered"},
     {"handles", Unit::Count, "Handles never closed (IPC, registrations, modules, …)"}}};

using Writer = void (*)(std::ostream&, const gate::Decision&, const gate::Context&);
const std::map<std::string, Writer> kFormats = {{"text", gate::write_text},
                                                {"json", gate::write_json},
                                                {"junit", gate::write_junit},
                                                {"sarif", gate::write_sarif},
                                                {"github", gate::write_github}};

std::optional<uint64_t> count_of(const std::string& text) {
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
        return std::nullopt;
    return std::stoull(text);
}

void take_limit(gate::Limits& limits, const LimitOption& option, const std::string& text) {
    const std::string_view name = option.name;
    if (option.unit == Unit::Share) {
        const auto share = gate::parse_share(text);
        if (!share) throw std::invalid_argument("--" + std::string(name) + ": '" + text + "' is no share (5 %, 0.05)");
        (name == "peak-tolerance" ? limits.peak_tolerance : limits.fragmentation) = share;
        return;
    }
    const auto number = option.unit == Unit::Bytes ? gate::parse_bytes(text) : count_of(text);
    if (!number) {
        throw std::invalid_argument("--" + std::string(name) + ": '" + text + "' is no " +
                                    (option.unit == Unit::Bytes ? "number of bytes (0, 64MiB, 2G)" : "whole number"));
    }
    const std::map<std::string_view, std::optional<uint64_t>*> places = {
        {"leaked-bytes", &limits.leaked_bytes},
        {"leaked-allocations", &limits.leaked_allocations},
        {"leaked-bytes-per-site", &limits.leaked_bytes_per_site},
        {"growth", &limits.growth},
        {"peak", &limits.peak},
        {"failed-allocations", &limits.failed_allocations},
        {"handles", &limits.handles}};
    *places.at(name) = number;
}

std::string today() {
    const time_t now = time(nullptr);
    tm parts{};
    gmtime_r(&now, &parts);
    char text[16];
    strftime(text, sizeof text, "%Y-%m-%d", &parts);
    return text;
}

// Flags say more than the file. Throws std::invalid_argument with one sentence.
gate::Request request_of(const GateOptions& options) {
    gate::GateFile file;
    std::error_code error;
    if (!options.file.empty()) {
        file = gate::read_gate_file(options.file);
    } else if (std::filesystem::exists(kDefaultFile, error)) {
        file = gate::read_gate_file(kDefaultFile);
    }
    gate::Request request;
    request.limits = file.limits;
    for (const LimitOption& option : kLimits) {
        const auto given = options.limits.find(option.name);
        if (given != options.limits.end() && !given->second.empty()) take_limit(request.limits, option, given->second);
    }
    if (!request.limits.any()) request.limits = gate::Limits::usual();
    request.suppressions = std::move(file.suppressions);
    for (const auto& list : {file.suppression_files, options.suppressions}) {
        for (const std::string& path : list) {
            for (gate::Suppression& one : gate::read_suppressions(path)) request.suppressions.push_back(std::move(one));
        }
    }
    const std::string baseline = options.baseline.empty() ? file.baseline : options.baseline;
    if (!baseline.empty()) request.baseline = gate::read_baseline(baseline);
    request.today = today();
    const std::string phase = options.phase.empty() ? file.phase : options.phase;
    if (!phase.empty()) request.phase = phase;
    if (options.pid != 0) request.pid = options.pid;
    request.survivors = options.survivors || file.survivors;
    request.running = options.running;
    if (request.running && !request.phase) {
        throw std::invalid_argument("--running needs --phase: what else of a job that runs has ended?");
    }
    if (request.survivors && !request.phase) {
        throw std::invalid_argument("--survivors needs --phase: tensors that live to a job's end are its model");
    }
    return request;
}

// "json=gate.json" → its writer and file.
std::pair<Writer, std::string> output_of(const std::string& text) {
    const size_t equals = text.find('=');
    const auto format = kFormats.find(text.substr(0, equals));
    if (format == kFormats.end() || equals == std::string::npos || equals + 1 == text.size()) {
        throw std::invalid_argument("--output-file: '" + text + "' is no FORMAT=FILE");
    }
    return {format->second, text.substr(equals + 1)};
}

gate::Context context_of(const GateOptions& options) {
    std::error_code error;
    const std::string root = options.source_root.empty() ? "." : options.source_root;
    return {std::filesystem::absolute(root, error).lexically_normal().string(),
            options.file.empty() ? kDefaultFile : options.file, kVersion};
}

Analysis analysed(const GateOptions& options, const gate::Request& request, const std::string& trace) {
    AnalysisOptions wanted;
    wanted.path = trace;
    wanted.phase = request.phase;
    wanted.pid = request.pid;
    wanted.symbols = search_paths(options.symbols);
    wanted.look_up_symbols = !options.no_symbols;
    wanted.read_twice = true;
    Progress progress("judging");
    wanted.progress = [&](uint64_t done, uint64_t total) { progress.show(done, total); };
    return analyze(wanted);
}

}  // namespace

void add_gate_options(CLI::App& command, GateOptions& options) {
    command.add_option("-c,--gate", options.file, "Rules and suppressions (default: vramtrace.toml, if it is here)")
        ->type_name("FILE");
    for (const LimitOption& option : kLimits) {
        command.add_option("--" + std::string(option.name), options.limits[option.name], option.text)
            ->type_name(option.unit == Unit::Bytes   ? "BYTES"
                        : option.unit == Unit::Count ? "N"
                                                     : "SHARE");
    }
    command
        .add_option("--phase", options.phase,
                    "Judge only what belongs to these phases: NAME, OUTER/INNER, or with the shell's wildcards")
        ->type_name("NAME");
    command.add_flag("--survivors", options.survivors,
                     "With --phase: tensors born in it and still there are leaked, not a model");
    command.add_option("--suppressions", options.suppressions, "File with lines leak:PATTERN, may be given often")
        ->allow_extra_args(false)
        ->type_name("FILE");
    command.add_option("--baseline", options.baseline, "Only what is not in there fails")->type_name("FILE");
    command.add_option("--write-baseline", options.write_baseline, "Write what this run shows as a baseline")
        ->type_name("FILE");
    std::vector<std::string> formats;
    for (const auto& [name, writer] : kFormats) formats.push_back(name);
    command.add_option("--format", options.format, "Form of the verdict")->check(CLI::IsMember(formats));
    command
        .add_option("--source-root", options.source_root,
                    "The repository, for places in SARIF and GitHub (default: here)")
        ->type_name("DIR");
    command.add_option("--output-file", options.outputs, "The same in another form, may be given often")
        ->allow_extra_args(false)
        ->type_name("FORMAT=FILE");
}

bool gate_is_sound(const GateOptions& options) {
    try {
        request_of(options);
        for (const std::string& output : options.outputs) output_of(output);
        return true;
    } catch (const std::invalid_argument& error) {
        spdlog::error("{}", error.what());
        return false;
    }
}

int run_gate(const GateOptions& options, const std::string& trace, std::ostream& out) {
    gate::Decision decision;
    std::optional<Analysis> analysis;  // the decision points into it
    try {
        const gate::Request request = request_of(options);
        try {
            analysis = analysed(options, request, trace);
            decision = gate::decide(*analysis, request);
        } catch (const trace::InputError& error) {
            decision.outcome = gate::Outcome::CannotJudge;
            decision.obstacles.emplace_back(error.what());
        }
        const gate::Context context = context_of(options);
        kFormats.at(options.format)(out, decision, context);
        for (const std::string& output : options.outputs) {
            const auto [write, path] = output_of(output);
            std::ofstream file(path);
            write(file, decision, context);
            file.flush();
            if (!file) throw std::runtime_error(path + " cannot be written");
        }
        if (!options.write_baseline.empty() && decision.outcome != gate::Outcome::CannotJudge) {
            gate::write_baseline(options.write_baseline, decision.baseline_of_this_run);
        }
    } catch (const std::invalid_argument& error) {
        spdlog::error("{}", error.what());
        return kUsage;
    }
    switch (decision.outcome) {
        case gate::Outcome::Passed:
            return kGood;
        case gate::Outcome::Failed:
            return kGateFailed;
        case gate::Outcome::CannotJudge:
            break;
    }
    return kCannotJudge;
}

}  // namespace vramtrace::cli
