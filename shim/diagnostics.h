// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramtrace::shim {

// At most one line of 512 bytes at most on stderr per process, "vramtrace: " in front; nothing with VRAMTRACE_QUIET=1.
// Never blocks (a full pipe gets nothing), never raises SIGPIPE or SIGXFSZ, keeps errno.
//   complain("not recording: cannot create ", path, ENOSPC)  →  vramtrace: not recording: cannot create /x: No space left …
void complain(const char* what, const char* detail = nullptr, int error = 0);

}  // namespace vramtrace::shim
