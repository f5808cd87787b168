// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "trace/event.h"

namespace vramtrace::accounts {

// Signs of life of each thread. At most kThreads are kept: beyond that the longer silent half is forgotten, and counted.
class Threads {
public:
    void touch(const trace::Event& event);
    const Thread* find(uint32_t thread) const;
    std::vector<Thread> threads() const;  // by first event
    uint64_t dropped() const { return dropped_; }

private:
    void forget_silent();

    std::unordered_map<uint32_t, Thread> threads_;
    Thread* last_ = nullptr;  // most events come from the thread before
    uint64_t dropped_ = 0;
};

}  // namespace vramtrace::accounts
