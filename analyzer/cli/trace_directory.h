// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

// WHERE TRACES LIE: making the directory for a new one, finding the newest.
namespace vramtrace::cli {

struct Failed {
    std::string sentence;  // empty = it went well
    explicit operator bool() const { return !sentence.empty(); }
};

// "vramtrace-train-4711" in the current directory, a number behind it if that exists already.
std::string fresh_directory_name(const std::string& command, int pid);

// Creates `directory` (0700, with what lies above it) or accepts an existing one without a trace in it. A trace that is
// still being recorded is joined (one job of several ranks), a finished one is refused, or removed with `overwrite`:
// only files that are a trace's, never others. `path` becomes absolute.
Failed prepare_directory(std::string& path, bool overwrite);

// Whether `directory` holds files of a trace.
bool holds_trace(const std::string& directory);
// … files with events, not only what `run` wrote.
bool holds_events(const std::string& directory);

// What to read: `named`, else $VRAMTRACE_DIR if it holds a trace, else nothing (the newest trace here).
std::optional<std::string> trace_to_read(const std::string& named);

// True while a collector of this machine is at work in the directory.
bool collector_at_work(const std::string& directory);

// True while the ring of a process that is gone still lies there: a collector turns it into the container.
bool waits_to_be_drained(const std::string& directory);

}  // namespace vramtrace::cli
