// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "shim/frameworks/framework_hook.h"

// PyTorch tells its profiler of every block that its caching allocator hands out or takes back, and of every
// out-of-memory, whether a profiler is on or not: libc10_cuda.so calls c10::report…ToProfiler of libc10.so through its
// PLT, under the lock of the device's allocator. Five names over the years, which differ in their mangling and in what
// they pass:
//
//   1.6 – 1.9    (void*, int64, Device)                    the void* is the allocator's Block, not an address
//   1.10 – …     (void*, int64, int64, int64, Device)      data pointer; bytes allocated and reserved afterwards
//   … – today    (void*, int64, size_t, size_t, Device)    the same
//   1.13 – …     OutOfMemory(int64, int64, int64, Device), then (int64, size_t, size_t, Device)
//
// Bytes are positive for a block handed out and negative for one taken back. The function behind returns at once when
// no profiler is on in the thread; it is always called, or torch.profiler would lose its memory events.
namespace vramtrace::shim {

namespace {

// c10::Device: two bytes in one register.
struct Device {
    int8_t type;
    int8_t index;
};
static_assert(sizeof(Device) == 2);
constexpr int8_t kCuda = 1;

enum Link : unsigned { kUsage3 = kTorchLinks, kUsageSigned, kUsage, kOutOfMemorySigned, kOutOfMemory };

bool is_cuda(Device device) {
    return device.type == kCuda && device.index >= 0;
}

uint64_t address_of(const void* pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
}

void report(Link link, const void* pointer, int64_t bytes, uint64_t allocated, uint64_t reserved, Device device) {
    if (!is_cuda(device) || Forwarding::repeats(link, address_of(pointer), bytes)) return;
    const bool out_of_memory = link == kOutOfMemorySigned || link == kOutOfMemory;
    if (!out_of_memory && (pointer == nullptr || bytes == 0)) return;
    trace::Event event;
    event.kind = out_of_memory ? trace::EventKind::FrameworkOutOfMemory
                 : bytes > 0   ? trace::EventKind::BlockAlloc
                               : trace::EventKind::BlockFree;
    event.address = address_of(pointer);
    event.size = bytes > 0 ? static_cast<uint64_t>(bytes) : 0 - static_cast<uint64_t>(bytes);
    event.object = allocated;
    event.aux = reserved;
    event.device = static_cast<uint8_t>(device.index);
    report_block(event, out_of_memory ? FrameworkFunction::TorchOutOfMemory : FrameworkFunction::TorchMemoryUsage);
}

}  // namespace

// Names as PyTorch's compilers mangle them.
#define USAGE_3 _ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE
#define USAGE_SIGNED _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE
#define USAGE _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define OUT_OF_MEMORY_SIGNED _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE
#define OUT_OF_MEMORY _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define EXPORTED extern "C" [[gnu::visibility("default")]]

EXPORTED void USAGE_3(void* block, int64_t bytes, Device device) {
    report(kUsage3, block, bytes, 0, 0, device);
    auto* real = linked<void(void*, int64_t, Device)>(kUsage3, TEXT(USAGE_3), __builtin_return_address(0));
    const Forwarding scope(kUsage3, address_of(block), bytes);
    if (real != nullptr) real(block, bytes, device);
}

EXPORTED void USAGE_SIGNED(void* pointer, int64_t bytes, int64_t allocated, int64_t reserved, Device device) {
    report(kUsageSigned, pointer, bytes, static_cast<uint64_t>(allocated), static_cast<uint64_t>(reserved), device);
    auto* real = linked<void(void*, int64_t, int64_t, int64_t, Device)>(kUsageSigned, TEXT(USAGE_SIGNED),
                                                                        __builtin_return_address(0));
    const Forwarding scope(kUsageSigned, address_of(pointer), bytes);
    if (real != nullptr) real(pointer, bytes, allocated, reserved, device);
}

EXPORTED void USAGE(void* pointer, int64_t bytes, size_t allocated, size_t reserved, Device device) {
    report(kUsage, pointer, bytes, allocated, reserved, device);
    auto* real = linked<void(void*, int64_t, size_t, size_t, Device)>(kUsage, TEXT(USAGE), __builtin_return_address(0));
    const Forwarding scope(kUsage, address_of(pointer), bytes);
    if (real != nullptr) real(pointer, bytes, allocated, reserved, device);
}

EXPORTED void OUT_OF_MEMORY_SIGNED(int64_t bytes, int64_t allocated, int64_t reserved, Device device) {
    report(kOutOfMemorySigned, nullptr, bytes, static_cast<uint64_t>(allocated), static_cast<uint64_t>(reserved),
           device);
    auto* real = linked<void(int64_t, int64_t, int64_t, Device)>(kOutOfMemorySigned, TEXT(OUT_OF_MEMORY_SIGNED),
                                                                 __builtin_return_address(0));
    const Forwarding scope(kOutOfMemorySigned, 0, bytes);
    if (real != nullptr) real(bytes, allocated, reserved, device);
}

EXPORTED void OUT_OF_MEMORY(int64_t bytes, size_t allocated, size_t reserved, Device device) {
    report(kOutOfMemory, nullptr, bytes, allocated, reserved, device);
    auto* real =
        linked<void(int64_t, size_t, size_t, Device)>(kOutOfMemory, TEXT(OUT_OF_MEMORY), __builtin_return_address(0));
    const Forwarding scope(kOutOfMemory, 0, bytes);
    if (real != nullptr) real(bytes, allocated, reserved, device);
}

}  // namespace vramtrace::shim
