// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// What the shim keeps per thread: plain data in initial-exec TLS. No constructor, no destructor (destructors of the job
// free memory after ours would have run), small (static TLS is scarce). A fork's child inherits it, so everything that
// names the process (tid) is valid only while `instance` equals the process's own (shim/record/lifecycle.h).
namespace vramtrace::shim {

struct ThreadState {
    uint32_t instance;  // of the process this state belongs to; 0 = never used
    uint32_t thread;    // gettid() of it
    uint16_t depth;     // > 0: a call of our own is below us: hooks forward without recording
    uint8_t label;      // runtime function we are in (index in Names), 0 = none. See hooks/call_scope.h
    uint8_t capturing;  // 1 while a stack is captured: a capture inside it (signal handler) gives "no stack"
};

[[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]] extern thread_local constinit ThreadState thread_state;

}  // namespace vramtrace::shim
