// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "shim/settings.h"

// STARTING THE COLLECTOR from inside the job so that the job cannot notice: no SIGCHLD, nothing for its waitpid(-1), no
// descriptor, no signal mask or handler of the job taken along.
//
//   job thread ── clone(VM, VFORK, exit signal 0) ──► intermediate ── clone(VM, VFORK) ──► helper: setsid, close all
//   waits for the intermediate only (__WALL)          exits at once                        descriptors, reset, exec
//
// A process that is PID 1 of its namespace, or a child subreaper, adopts the collector as it adopts every orphan:
// lifecycle.cpp puts the start off there.
namespace vramtrace::shim {

// Finds the program: the setting, else beside our own library, then ../libexec/vramtrace and ../bin from there.
// nullptr: found, `path` is set. Else why not, in words for the Fact "collector".
const char* find_collector(const Settings& settings, char* path, size_t path_bytes);

// Runs `path --directory DIRECTORY`. 0: it was executed. Else an errno value. Keeps errno; blocks signals meanwhile.
int launch_collector(const char* path, const char* directory, const Settings& settings);

}  // namespace vramtrace::shim
