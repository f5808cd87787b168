// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/spdlog.h>

namespace vramtrace::cli {

// The program's own words go to stderr with "vramtrace: " in front, so that they are told from the job's. -v shows
// debugging, --quiet of a command only errors.
void set_up_log(bool verbose);

}  // namespace vramtrace::cli
