// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/commands.h"

int main(int argc, char** argv) {
    return vramtrace::cli::run_program(argc, argv);
}
