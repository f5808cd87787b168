// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

// The collector's words, in DIRECTORY/collector.log: a line with time and pid for each thing a user may wonder about.
// Bounded; that the log cannot be written is no reason to stop.
namespace vramtrace::collect {

class CollectorLog {
public:
    explicit CollectorLog(const std::string& directory) : path_(directory + "/collector.log") {}
    void say(const std::string& sentence);

private:
    static constexpr uint64_t kMaxBytes = 1U << 20;
    std::string path_;
};

}  // namespace vramtrace::collect
