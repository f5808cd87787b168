// SPDX-License-Identifier: Apache-2.0
#include "tests/frameworks/imitation/c10_cuda.h"

#include <cuda_runtime_api.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>

namespace {

constexpr size_t kSegment = 2 << 20;
constexpr c10::Device kCuda0{1, 0};

std::recursive_mutex mutex;
char* segment = nullptr;
size_t used = 0, allocated = 0;

// Through the PLT of this library. The errno of libc10's function comes back, whoever stands in between.
void tell(const Report& report) {
    const auto signed_allocated = int64_t(report.allocated), signed_reserved = int64_t(report.reserved);
    auto* pointer = const_cast<void*>(report.pointer);
    errno = 5;
    switch (report.which) {
        case kUsage3:
            c10::reportMemoryUsageToProfiler(pointer, report.bytes, report.device);
            break;
        case kUsageSigned:
            c10::reportMemoryUsageToProfiler(pointer, report.bytes, signed_allocated, signed_reserved, report.device);
            break;
        case kUsage:
            c10::reportMemoryUsageToProfiler(pointer, report.bytes, size_t(report.allocated), size_t(report.reserved),
                                             report.device);
            break;
        case kOutOfMemorySigned:
            c10::reportOutOfMemoryToProfiler(report.bytes, signed_allocated, signed_reserved, report.device);
            break;
        case kOutOfMemory:
            c10::reportOutOfMemoryToProfiler(report.bytes, size_t(report.allocated), size_t(report.reserved),
                                             report.device);
            break;
    }
    if (errno != 77) std::abort();
}

void warm_up() {
    void* memory = nullptr;
    if (segment == nullptr && cudaMalloc(&memory, kSegment) == cudaSuccess) segment = static_cast<char*>(memory);
}

void* alloc(Reported how, size_t bytes) {
    const std::lock_guard lock(mutex);
    warm_up();
    if (segment == nullptr || used + bytes > kSegment) {
        const auto as = how == kUsage ? kOutOfMemory : kOutOfMemorySigned;
        tell({as, nullptr, int64_t(bytes), allocated, segment != nullptr ? kSegment : 0, kCuda0});
        return nullptr;
    }
    void* block = segment + used;
    used += bytes;
    allocated += bytes;
    tell({how, block, int64_t(bytes), allocated, kSegment, kCuda0});
    return block;
}

void free_block(Reported how, void* pointer, size_t bytes) {
    const std::lock_guard lock(mutex);
    allocated -= bytes;
    tell({how, pointer, -int64_t(bytes), allocated, kSegment, kCuda0});
}

}  // namespace

extern "C" Allocator imitation_allocator() {
    return {alloc, free_block, tell, warm_up, [] { mutex.lock(); }, [] { mutex.unlock(); }};
}
