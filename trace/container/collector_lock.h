// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "trace/process_header.h"

// The lock in DIRECTORY/collector.lock that says who drains the rings there: one byte for each pair of boot id and PID
// namespace, because a directory on a network has a collector on each machine. Held as an open-file-description lock:
// the kernel gives it up with the holder's life, and others can ask without touching it.
namespace vramtrace::trace {

class CollectorLock {
public:
    explicit CollectorLock(const std::string& directory) : path_(directory + "/collector.lock") {}
    ~CollectorLock() { release(); }
    CollectorLock(const CollectorLock&) = delete;
    CollectorLock& operator=(const CollectorLock&) = delete;

    // True if we hold it now. False: somebody else does, or (error() != 0) the file system knows no locks or no
    // writing.
    bool acquire(const ProcessIdentity& machine);
    void release();
    // False once somebody removed the file (a user who cleared the directory): another collector can then hold "the"
    // lock too, so the holder must acquire anew or leave.
    bool still_named() const;
    int error() const { return error_; }

    // Is a collector of that boot id and PID namespace at work in the directory? Changes nothing.
    static bool held(const std::string& directory, const ProcessIdentity& machine);

private:
    std::string path_;
    int fd_ = -1;
    int error_ = 0;
};

}  // namespace vramtrace::trace
