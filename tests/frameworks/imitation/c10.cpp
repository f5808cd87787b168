// SPDX-License-Identifier: Apache-2.0
#include "tests/frameworks/imitation/c10.h"

#include <atomic>
#include <cerrno>

namespace {

constexpr int kRoom = 1000;
Report reports[kRoom];
std::atomic<int> count{0};
bool hand_on = false;

void keep(const Report& report) {
    const int number = count.fetch_add(1);
    if (number < kRoom) reports[number] = report;
    errno = 77;  // the framework's own function may leave any; the caller sees this one
}

}  // namespace

namespace c10 {

void reportMemoryUsageToProfiler(void* block, int64_t bytes, Device device) {
    keep({kUsage3, block, bytes, 0, 0, device});
}
void reportMemoryUsageToProfiler(void* pointer, int64_t bytes, int64_t allocated, int64_t reserved, Device device) {
    keep({kUsageSigned, pointer, bytes, uint64_t(allocated), uint64_t(reserved), device});
}
void reportMemoryUsageToProfiler(void* pointer, int64_t bytes, size_t allocated, size_t reserved, Device device) {
    keep({kUsage, pointer, bytes, allocated, reserved, device});
    if (hand_on) reportMemoryUsageToProfiler(pointer, bytes, int64_t(allocated), int64_t(reserved), device);
}
void reportOutOfMemoryToProfiler(int64_t bytes, int64_t allocated, int64_t reserved, Device device) {
    keep({kOutOfMemorySigned, nullptr, bytes, uint64_t(allocated), uint64_t(reserved), device});
}
void reportOutOfMemoryToProfiler(int64_t bytes, size_t allocated, size_t reserved, Device device) {
    keep({kOutOfMemory, nullptr, bytes, allocated, reserved, device});
}

}  // namespace c10

extern "C" {
int imitation_report_count() {
    return count.load();
}
Report imitation_report(int number) {
    return reports[number];
}
void imitation_hand_on() {
    hand_on = true;
}
}
