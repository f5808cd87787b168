// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vramtrace::cli {

// A bar on stderr while a long trace is read; nothing unless stderr is a terminal, nothing for the first half second.
class Progress {
public:
    explicit Progress(std::string what);
    ~Progress();  // wipes the bar
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(uint64_t done, uint64_t total);

private:
    std::string what_;
    bool terminal_;
    bool drawn_ = false;
    uint64_t next_;  // CLOCK_MONOTONIC ns
};

}  // namespace vramtrace::cli
