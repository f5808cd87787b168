// SPDX-License-Identifier: Apache-2.0
#include "shim/frameworks/framework_hook.h"

#include <atomic>

#include "shim/record/framework_facts.h"
#include "shim/record/recorder.h"
#include "shim/settings.h"
#include "shim/thread_state.h"
#include "trace/ring/system_calls.h"

namespace vramtrace::shim {

namespace {

// Plain data, like thread_state: a fork's child inherits it, which silences nothing but a repeated report.
[[gnu::tls_model("initial-exec")]] thread_local constinit Forwarding::State forwarding{};

// The recording in which the framework's version was told. A fork's child has another number.
constinit std::atomic<uint32_t> told_in_instance{0};

}  // namespace

bool blocks_are_recorded() {
    if (!recording()) return false;
    const Settings* chosen = settings();
    return chosen != nullptr && chosen->frameworks;
}

void report_block(trace::Event& event, FrameworkFunction function) {
    if (thread_state.depth != 0 || !blocks_are_recorded()) return;
    const trace::KeepErrno keep_errno;
    event.api = api_of(function);
    if (record(event, OpensRing::No) == kNotRecorded) return;
    // relaxed: no data behind it; two threads at once tell the same, which define() makes one.
    const uint32_t instance = thread_state.instance;
    if (told_in_instance.load(std::memory_order_relaxed) == instance) return;
    told_in_instance.store(instance, std::memory_order_relaxed);
    publish_framework_facts();  // a framework may have been loaded after the trace was opened
}

Forwarding::Forwarding(unsigned link, uint64_t address, int64_t bytes) : outer_(forwarding) {
    forwarding = {address, bytes, link};
}

Forwarding::~Forwarding() {
    forwarding = outer_;
}

bool Forwarding::repeats(unsigned link, uint64_t address, int64_t bytes) {
    return forwarding.link != 0 && forwarding.link != link && forwarding.address == address &&
           forwarding.bytes == bytes;
}

}  // namespace vramtrace::shim
