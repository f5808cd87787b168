// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/exit_codes.h"
#include "analyzer/cli/log.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/read_trace.h"
#include "analyzer/cli/trace_directory.h"
#include "analyzer/kept_names.h"
#include "analyzer/print/printable.h"
#include "analyzer/print/units.h"

namespace vramtrace::cli {

namespace {

constexpr char kSymbolizeHelp[] =
    R"(`vramtrace run` does this by itself at its end. After a bare LD_PRELOAD do it on the machine (or in the container) where
the job ran, before its files go; then the report works anywhere.

Examples:
  vramtrace symbolize
  vramtrace symbolize trace --debug-dir ~/debug --sysroot /mnt/image)";

struct SymbolizeOptions {
    std::string trace;
    SymbolOptions symbols;
};

int symbolize_trace(const SymbolizeOptions& options) {
    const std::string path = existing_trace(trace_to_read(options.trace));
    KeptNames kept;
    {
        Progress progress("naming call stacks");
        kept = keep_names(path, search_paths(options.symbols), true,
                          [&](uint64_t done, uint64_t total) { progress.show(done, total); });
    }
    std::cout << path << ": " << print::grouped(kept.named) << " of "
              << print::counted(kept.addresses, "address has a name", "addresses have names") << "\n";
    for (const std::string& problem : kept.problems) std::cout << "  " << print::printable(problem) << "\n";
    return kGood;
}

}  // namespace

void add_symbolize(CLI::App& program, Chosen& chosen) {
    CLI::App* command = program.add_subcommand("symbolize", "Keep the names of a trace's call stacks in it");
    auto options = std::make_shared<SymbolizeOptions>();
    command->footer(kSymbolizeHelp);
    command->add_option("trace", options->trace, "Trace directory (default: the newest here)")->type_name("TRACE");
    add_symbol_options(*command, options->symbols);
    command->callback([options, &chosen] { chosen.action = [options] { return symbolize_trace(*options); }; });
}

}  // namespace vramtrace::cli
