// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/record/lifecycle.h"

// The files of a recording: trace directory, where the ring lies, names that nobody has yet.
namespace vramtrace::shim {

// Why it did not work: words, a path or nullptr, an errno value. what == nullptr: it worked.
struct Refusal {
    const char* what = nullptr;
    const char* detail = nullptr;
    int error = 0;
};

// Fills recording.directory from the setting (placeholders, absolute) and creates it, 0700.
Refusal make_trace_directory(Recording& recording);

// Where ring and definitions lie: in the trace directory if its file system is of this machine, else in shared memory if
// that is ample (STEM.where in the directory says so), else in the directory all the same.
enum class RingPlace : bool { Directory, SharedMemory };
RingPlace choose_ring_place(const char* directory);

// Creates definitions and first ring segment under the first counter that is free; fills identity.counter, prefix, chain
// and definitions. Leaves nothing behind if it fails.
Refusal create_trace_files(Recording& recording, RingPlace place);

}  // namespace vramtrace::shim
