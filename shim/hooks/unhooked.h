// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names that a program looked up and got, that look as if they made or freed memory, and that no table of ours knows: a
// newer driver's. Each is reported once per process as Event Unhooked. Look-ups come before the trace is open, so the
// names are kept until then.
namespace vramtrace::shim {

// Whether the name of a driver function looks like memory that comes or goes. tests/drift asks the same of the headers.
bool looks_like_allocation(const char* name);

void note_unhooked(const char* name, int version);

// Records what has been noted and not yet recorded. One load when there is nothing. Only while recording().
void report_unhooked();

}  // namespace vramtrace::shim
