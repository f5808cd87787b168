// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/progress.h"

#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "analyzer/print/units.h"

namespace vramtrace::cli {

namespace {

constexpr uint64_t kPatience = 500000000;
constexpr uint64_t kInterval = 100000000;
constexpr unsigned kWidth = 30;

uint64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) == 1), next_(now() + kPatience) {}

Progress::~Progress() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::show(uint64_t done, uint64_t total) {
    if (!terminal_ || now() < next_) return;
    next_ = now() + kInterval;
    drawn_ = true;
    if (total == 0) {
        std::fprintf(stderr, "\r%s %s\x1b[K", what_.c_str(), print::bytes(done).c_str());
        return;
    }
    const auto filled = static_cast<unsigned>(done >= total ? kWidth : done / (total / kWidth + 1));
    std::fprintf(stderr, "\r%s [%s%s] %s of %s\x1b[K", what_.c_str(), std::string(filled, '#').c_str(),
                 std::string(kWidth - filled, '.').c_str(), print::bytes(done).c_str(), print::bytes(total).c_str());
}

}  // namespace vramtrace::cli
