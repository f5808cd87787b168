// SPDX-License-Identifier: Apache-2.0
#include "trace/container/collector_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "trace/container/hash64.h"

namespace vramtrace::trace {
namespace {

struct flock byte_of(const ProcessIdentity& machine) {
    struct {
        char boot_id[sizeof(machine.boot_id)] = {};
        uint64_t pid_namespace = 0;
    } key;
    std::memcpy(key.boot_id, machine.boot_id, strnlen(machine.boot_id, sizeof(key.boot_id)));
    key.pid_namespace = machine.pid_namespace;
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    // Below 2³¹, so that every file system can lock it.
    lock.l_start = static_cast<off_t>(hash64(std::as_bytes(std::span(&key, 1))) & 0x7ffffffe);
    lock.l_len = 1;
    return lock;
}

}  // namespace

bool CollectorLock::acquire(const ProcessIdentity& machine) {
    release();
    error_ = 0;
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd_ < 0) {
        error_ = errno;
        return false;
    }
    struct flock lock = byte_of(machine);
    if (fcntl(fd_, F_OFD_SETLK, &lock) == 0) return true;
    if (errno != EAGAIN && errno != EACCES) error_ = errno;
    release();
    return false;
}

void CollectorLock::release() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

bool CollectorLock::still_named() const {
    struct stat mine = {}, named = {};
    return fd_ >= 0 && fstat(fd_, &mine) == 0 && stat(path_.c_str(), &named) == 0 && mine.st_dev == named.st_dev &&
           mine.st_ino == named.st_ino;
}

bool CollectorLock::held(const std::string& directory, const ProcessIdentity& machine) {
    const int fd = open((directory + "/collector.lock").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    struct flock lock = byte_of(machine);
    const bool asked = fcntl(fd, F_OFD_GETLK, &lock) == 0;
    close(fd);
    return asked && lock.l_type != F_UNLCK;
}

}  // namespace vramtrace::trace
