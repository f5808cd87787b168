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

constinit std::atomic<uint64_t> next_memory_sample[2][kMaxDevices];  // by SampleReason
constinit std::atomic<uint64_t> next_pool_sample[kMaxDevices];

// True for one caller a second.
bool is_due(std::atomic<uint64_t>& next) {
    timespec now;
    // Coarse: a few ns, and milliseconds do not matter here.
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const uint64_t time = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
    uint64_t due = next.load(std::memory_order_relaxed);
    return time >= due && next.compare_exchange_strong(due, time + kInterval, std::memory_order_relaxed);
}

}  // namespace

void sample_memory(const DriverCalls& driver, const Place& here, SampleReason reason) {
    if (here.device >= kMaxDevices || driver.mem_get_info == nullptr) return;
    if (!is_due(next_memory_sample[static_cast<unsigned>(reason)][here.device])) return;
    size_t free_bytes = 0, total_bytes = 0;
    if (driver.mem_get_info(&free_bytes, &total_bytes) != kSuccess) return;
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
    if (!is_due(next_pool_sample[device])) return;
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
