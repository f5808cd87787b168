// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// What libc10.so defines of interest here: the five functions by which allocators tell PyTorch's profiler, with the
// mangled names of all versions of PyTorch, and a "profiler" that keeps what it was told.
namespace c10 {

struct Device {
    int8_t type;
    int8_t index;
};

void reportMemoryUsageToProfiler(void* block, int64_t bytes, Device device);
void reportMemoryUsageToProfiler(void* pointer, int64_t bytes, int64_t allocated, int64_t reserved, Device device);
void reportMemoryUsageToProfiler(void* pointer, int64_t bytes, size_t allocated, size_t reserved, Device device);
void reportOutOfMemoryToProfiler(int64_t bytes, int64_t allocated, int64_t reserved, Device device);
void reportOutOfMemoryToProfiler(int64_t bytes, size_t allocated, size_t reserved, Device device);

}  // namespace c10

// Which of them; the numbers are the order above.
enum Reported : int { kUsage3, kUsageSigned, kUsage, kOutOfMemorySigned, kOutOfMemory };

struct Report {
    Reported which;
    const void* pointer;
    int64_t bytes;
    uint64_t allocated, reserved;
    c10::Device device;
};

extern "C" {
// The profiler's record. Reports beyond its room are counted only.
int imitation_report_count();
Report imitation_report(int number);
// From now on `kUsage` hands on to `kUsageSigned`, through the PLT, as one overload may call another.
void imitation_hand_on();
}
