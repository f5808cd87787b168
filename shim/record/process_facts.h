// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "shim/settings.h"
#include "trace/process_header.h"

// WHO WE ARE: identity of this process for the file headers, and what a report tells of it. Reads /proc once, at the start
// of recording; without /proc the fields stay 0 or empty.
namespace vramtrace::trace {
class DefinitionTable;
}

namespace vramtrace::shim {

// All but `counter`; the clocks are read last.
void fill_identity(trace::ProcessIdentity& identity);

// Facts that are known without CUDA: command line, executable, directory, our version, stack depth, settings.
void publish_facts(trace::DefinitionTable& definitions, const Settings& settings);
void publish_fact(trace::DefinitionTable& definitions, const char* key, const void* value, size_t bytes);

// Copies a command line (arguments each with its NUL) and puts *** in place of what looks like a secret:
//   --api-key=X  PASSWORD=X  --token X  https://user:X@host
// Returns the bytes written; cut at `room`.
size_t mask_command_line(const char* command, size_t bytes, char* masked, size_t room);

}  // namespace vramtrace::shim
