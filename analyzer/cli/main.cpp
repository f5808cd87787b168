// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/commands.h"
#include "trace/container/mapping_guard.h"

int main(int argc, char** argv) {
    // A report of a running job maps its rings: whoever cuts such a file short must not end the report.
    vramtrace::trace::survive_cut_mappings();
    return vramtrace::cli::run_program(argc, argv);
}
