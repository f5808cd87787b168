// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace vramtrace::cli {

// What the command line asked for: set by the command that was named, run once everything is parsed.
struct Chosen {
    std::function<int()> action;
    std::vector<std::string> tail;  // of `run`: the job's command line, untouched
};

// One command a file. Each adds itself with its options and help to the program.
void add_run(CLI::App& program, Chosen& chosen);
void add_report(CLI::App& program, Chosen& chosen);
void add_check(CLI::App& program, Chosen& chosen);
void add_diff(CLI::App& program, Chosen& chosen);
void add_dump(CLI::App& program, Chosen& chosen);
void add_symbolize(CLI::App& program, Chosen& chosen);
void add_doctor(CLI::App& program, Chosen& chosen);

// The whole program; returns its exit code (or ends like the job).
int run_program(int argc, char** argv);

// Where to look for symbols: options that several commands share.
struct SymbolOptions {
    std::string sysroot;
    std::vector<std::string> debug_directories;
    bool debuginfod = false;
    bool no_cache = false;
};
void add_symbol_options(CLI::App& command, SymbolOptions& options);

}  // namespace vramtrace::cli
