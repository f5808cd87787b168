// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/captures.h"

#include <sched.h>

#include <atomic>

#include "shim/hooks/call_scope.h"

namespace vramtrace::shim {

namespace {

// Each side writes its own word and then reads the other's, all sequentially consistent: at least one of a capture that
// begins and a sampler that starts sees the other.
constinit std::atomic<int> active{0};
constinit std::atomic<int> samplers{0};

bool is_legacy(Handle stream, bool per_thread) {
    const auto value = reinterpret_cast<uintptr_t>(stream);
    return value == kLegacyStream || (value == 0 && !per_thread);
}

}  // namespace

void capture_begins() {
    active.fetch_add(1, std::memory_order_seq_cst);
    // Bounded: a sampler may have died in a fork's parent or been stopped by a debugger.
    for (int i = 0; samplers.load(std::memory_order_seq_cst) > 0 && i < 10'000; ++i) sched_yield();
}

void capture_ended() {
    int count = active.load(std::memory_order_relaxed);
    while (count > 0 && !active.compare_exchange_weak(count, count - 1, std::memory_order_seq_cst)) {
    }
}

bool captures_active() {
    return active.load(std::memory_order_relaxed) > 0;
}

bool is_capturing(const DriverCalls& driver, Handle stream, bool per_thread) {
    const auto ask = per_thread ? driver.stream_is_capturing_ptsz : driver.stream_is_capturing;
    Enum status = 0;
    const OwnCalls own;
    // The legacy stream cannot be captured; asking it while others are only earns an error.
    return !is_legacy(stream, per_thread) && ask != nullptr && ask(stream, &status) == kSuccess && status != 0;
}

CaptureState capture_state(const DriverCalls& driver, Handle stream, bool per_thread) {
    CaptureState state;
    if (!captures_active() || is_legacy(stream, per_thread)) return state;
    const auto ask = per_thread ? driver.stream_get_capture_info_ptsz : driver.stream_get_capture_info;
    Enum status = 0;
    uint64_t id = 0;
    const OwnCalls own;
    const Handle* nodes = nullptr;
    size_t count = 0;
    if (ask == nullptr || ask(stream, &status, &id, &state.graph, &nodes, &count) != kSuccess ||
        status != kCaptureActive)
        return {};
    if (nodes != nullptr && count == 1) state.node = nodes[0];
    return state;
}

NoCapture::NoCapture() {
    samplers.fetch_add(1, std::memory_order_seq_cst);
    allowed_ = active.load(std::memory_order_seq_cst) == 0;
}

NoCapture::~NoCapture() {
    samplers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace vramtrace::shim
