// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/samples.h"

#include <time.h>

#include <atomic>

#include "shim/hooks/call.h"
#include "shim/hooks/call_scope.h"
#include "shim/hooks/captures.h"

namespace vramtrace::shim {

namespace {

constexpr unsigned kMaxDevices = 64;
constexpr uint64_t kInterval = 1'000'000'000;  // ns

constexpr uint64_t kCostShare = 100;  // Code: wait this many times what the last question took

constinit std::atomic<uint64_t> next_memory_sample[kSampleReasons][kMaxDevices];
constinit std::atomic<uint64_t> next_pool_sample[kMaxDevices];

uint64_t now_by(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// True for one caller a second; whoever is told so may let the next one come earlier.
bool is_due(std::atomic<uint64_t>& next, clockid_t clock) {
    const uint64_t time = now_by(clock);
    uint64_t due = next.load(std::memory_order_relaxed);
    return time >= due && next.compare_exchange_strong(due, time + kInterval, std::memory_order_relaxed);
}

}  // namespace

void sample_memory(const DriverCalls& driver, const Place& here, SampleReason reason) {
    if (here.device >= kMaxDevices || driver.mem_get_info == nullptr) return;
    std::atomic<uint64_t>& next = next_memory_sample[static_cast<unsigned>(reason)][here.device];
    const bool code = reason == SampleReason::Code;
    // Coarse: a few ns, and milliseconds do not matter here; loading code takes longer than a precise look.
    if (!is_due(next, code ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE)) return;
    // What it cost, not how long others had the core meanwhile.
    const uint64_t begin = code ? now_by(CLOCK_THREAD_CPUTIME_ID) : 0;
    size_t free_bytes = 0, total_bytes = 0;
    if (driver.mem_get_info(&free_bytes, &total_bytes) != kSuccess) return;
    if (code) {
        // Only its own: a sample that took a second does not put off the next for longer than a second.
        const uint64_t pause = (now_by(CLOCK_THREAD_CPUTIME_ID) - begin) * kCostShare;
        next.store(now_by(CLOCK_MONOTONIC) + (pause < kInterval ? pause : kInterval), std::memory_order_relaxed);
    }
    trace::Event event;
    event.kind = trace::EventKind::MemoryInfo;
    event.size = free_bytes;
    event.aux = total_bytes;
    event.device = here.device;
    event.context = here.context;
    record_plain(event, OpensRing::No, WithStack::No);
}

void sample_pool(const DriverCalls& driver, Handle pool, uint8_t device) {
    if (device >= kMaxDevices || driver.pool_get_attribute == nullptr || captures_active()) return;
    if (!is_due(next_pool_sample[device], CLOCK_MONOTONIC_COARSE)) return;
    uint64_t reserved = 0, used = 0;
    {
        const OwnCalls own;
        const NoCapture quiet;
        if (!quiet.allowed()) return;
        if (pool == nullptr &&
            (driver.device_get_mem_pool == nullptr || driver.device_get_mem_pool(&pool, device) != kSuccess))
            return;
        if (driver.pool_get_attribute(pool, kPoolReservedNow, &reserved) != kSuccess ||
            driver.pool_get_attribute(pool, kPoolUsedNow, &used) != kSuccess)
            return;
    }
    trace::Event event;
    event.kind = trace::EventKind::PoolInfo;
    event.object = reinterpret_cast<uintptr_t>(pool);
    event.size = reserved;
    event.aux = used;
    event.device = device;
    record_plain(event, OpensRing::No, WithStack::No);
}

}  // namespace vramtrace::shim
