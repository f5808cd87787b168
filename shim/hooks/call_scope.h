// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/function_table.h"
#include "shim/thread_state.h"

namespace vramtrace::shim {

// The runtime function that this thread is in. The outermost one counts: it is the one the program called. It never
// suppresses a driver event.
class LabelScope {
public:
    explicit LabelScope(Name name) : before_(thread_state.label) {
        if (before_ == trace::kNoName) thread_state.label = static_cast<uint8_t>(name);
    }
    ~LabelScope() { thread_state.label = before_; }
    LabelScope(const LabelScope&) = delete;
    LabelScope& operator=(const LabelScope&) = delete;

private:
    const uint8_t before_;
};

// Calls of our own go to the real functions, but a neighbour's may come back to us: they are not the program's.
class OwnCalls {
public:
    OwnCalls() { ++thread_state.depth; }
    ~OwnCalls() { --thread_state.depth; }
    OwnCalls(const OwnCalls&) = delete;
    OwnCalls& operator=(const OwnCalls&) = delete;
};

// A driver call that we make ourselves is below: not the program's, so nothing of it is recorded.
inline bool in_own_call() {
    return thread_state.depth != 0;
}

}  // namespace vramtrace::shim
