// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// What is known of the frameworks in this process without asking them: their libraries, versions and the variables that
// say how they allocate.
namespace vramtrace::shim {

// Publishes them as facts (interned: saying one again costs nothing). While the trace is opened or once it is open; again
// when a framework turns out to have been loaded later. Takes the loader's list lock for a moment.
void publish_framework_facts();

// The value of `name = 'value'` (either quote) at a line's start in Python source; 0 if there is none. Writes at most
// `room` bytes without a NUL and returns how many.
size_t python_assignment(const char* source, size_t bytes, const char* name, char* value, size_t room);

}  // namespace vramtrace::shim
