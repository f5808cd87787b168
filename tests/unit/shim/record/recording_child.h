// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/record/recorder.h"
#include "tests/unit/shim/record/child_process.h"

// What children of the recorder's tests do.
namespace vramtrace::test {

using shim::OpensRing;
using shim::WithStack;
using trace::EventKind;

inline uint64_t put(uint64_t address, OpensRing opens = OpensRing::Yes, WithStack stack = WithStack::Yes,
                    EventKind kind = EventKind::DeviceAlloc) {
    trace::Event event;
    event.kind = kind;
    event.address = address;
    event.size = 2 * address;
    return shim::record(event, opens, stack);
}

// A trace directory, no collector.
inline void record_into(const std::string& directory) {
    setenv("VRAMTRACE_DIR", directory.c_str(), 1);
    setenv("VRAMTRACE_COLLECTOR", "0", 1);
}

inline int wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

inline int count_descriptors() {
    int count = 0;
    for (int i = 0; i < 1024; ++i) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

}  // namespace vramtrace::test
