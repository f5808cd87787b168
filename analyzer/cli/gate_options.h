// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "analyzer/cli/commands.h"

namespace vramtrace::cli {

// What `check` and `run --check` take; every text as it was given.
struct GateOptions {
    std::string file;                           // vramtrace.toml; empty: the one here, if there is one
    std::map<std::string, std::string> limits;  // option's name → text
    std::vector<std::string> suppressions;      // files
    std::string baseline, write_baseline;
    std::string format = "text";
    std::string source_root;           // the repository; empty: the current directory
    std::vector<std::string> outputs;  // "FORMAT=FILE"
    std::string phase;
    uint32_t pid = 0;        // 0: all; only of `check`
    bool running = false;    // only of `check`
    bool survivors = false;  // gate.h
    SymbolOptions symbols;
    bool no_symbols = false;
};
void add_gate_options(CLI::App& command, GateOptions& options);

// False with one sentence on stderr if the options, the gate file, a suppression file or the baseline cannot be used: asked
// before a job is started, so that it does not run for nothing.
bool gate_is_sound(const GateOptions& options);

// Judges the trace, writes the verdict to `out` and what else was asked for, answers kGood, kGateFailed, kCannotJudge or kUsage. A trace that is missing or
// unreadable cannot be judged.
int run_gate(const GateOptions& options, const std::string& trace, std::ostream& out);

}  // namespace vramtrace::cli
