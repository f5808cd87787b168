// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "trace/process_header.h"

// Is the process that a trace is of still there? Asked by the collector and by a report on a running job, which are
// neither its parents. A pid alone names nobody: the start time must agree.
namespace vramtrace::trace {

// Boot id and PID namespace of this process in the fields of the same names; the rest is empty.
ProcessIdentity this_machine();
// Do that process's pid and clocks mean anything here?
bool of_machine(const ProcessIdentity& process, const ProcessIdentity& machine);

// ProcessIdentity::start_time of that pid now, 0 if there is none.
uint64_t start_time_of(uint32_t pid);

class ProcessWatch {
public:
    // `process` must be of this machine.
    explicit ProcessWatch(const ProcessIdentity& process);
    ~ProcessWatch();
    ProcessWatch(const ProcessWatch&) = delete;
    ProcessWatch& operator=(const ProcessWatch&) = delete;

    // False once it is gone or a zombie; never true again.
    bool alive();
    // Stopped by a signal or a debugger: its writers do not stall, they sleep.
    bool stopped() const;
    // Readable once the process is gone; -1 where the kernel has none. For poll().
    int descriptor() const { return pidfd_; }

private:
    bool same(uint64_t start_time) const;

    ProcessIdentity process_;
    int pidfd_ = -1;
    bool dead_ = false;
};

}  // namespace vramtrace::trace
