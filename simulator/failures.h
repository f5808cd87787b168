// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "simulator/driver/functions.h"

namespace vramtrace::simulator {

// Failures on demand and the count of calls of every driver function.
//
// VRAMTRACE_SIM_FAIL is a list, separated by ';', of
//     NAME:key=value,key=value,...   keys: every (1), after (0), count (0 = without end), code (2)
// where NAME is an exported name or '*'.
class Failures {
public:
    struct Counts {
        std::atomic<uint64_t> calls{0};
        std::atomic<uint64_t> successes{0};
        std::atomic<uint64_t> injected{0};
    };

    // Empty if the text was understood, else what was not.
    std::string read(const std::string& text);
    bool set(const std::string& name, uint64_t every, uint64_t after, uint64_t count, int code);

    // Counts a call; the code it must answer, or 0.
    int on_call(Function function);
    void on_success(Function function) { at(function).successes.fetch_add(1, std::memory_order_relaxed); }
    const Counts& counts(Function function) const { return counts_[static_cast<size_t>(function)]; }

private:
    struct Rule {
        uint64_t every;
        uint64_t after;
        uint64_t count;
        int code;
        uint64_t seen;
        uint64_t failed;
    };

    Counts& at(Function function) { return counts_[static_cast<size_t>(function)]; }
    int apply(std::vector<Rule>& rules);

    // Independent counters: relaxed everywhere, nothing is published through them.
    std::array<Counts, kFunctionCount> counts_;
    std::atomic<bool> any_rules_{false};  // relaxed: the rules themselves are read under mutex_
    std::mutex mutex_;
    std::array<std::vector<Rule>, kFunctionCount> rules_;
    std::vector<Rule> rules_for_all_;
};

}  // namespace vramtrace::simulator
