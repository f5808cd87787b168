// SPDX-License-Identifier: Apache-2.0
#include "analyzer/collect/collector_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace vramtrace::collect {

void CollectorLog::say(const std::string& sentence) {
    const int fd = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) return;
    struct stat status {};
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) < kMaxBytes) {
        char when[32] = "";
        const time_t now = time(nullptr);
        tm parts{};
        if (gmtime_r(&now, &parts) != nullptr) strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &parts);
        const std::string line = std::string(when) + " [" + std::to_string(getpid()) + "] " + sentence + "\n";
        // One write, so that lines of two collectors never mix.
        static_cast<void>(write(fd, line.data(), line.size()) >= 0);
    }
    close(fd);
}

}  // namespace vramtrace::collect
