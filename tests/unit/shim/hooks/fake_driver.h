// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "shim/hooks/effects/device_memory.h"
#include "shim/hooks/wrapper.h"
#include "tests/unit/shim/hooks/fake_recorder.h"

// A driver made of answers that a test sets, called through the one wrapper body.
namespace vramtrace::shim {

// The driver as the tests see it.
struct FakeDriver {
    Handle current = nullptr;
    int device = 0;
    int pointer_device = 0;
    Enum capture_status = 0;
    Handle capture_graph = nullptr;
    Handle capture_node = nullptr;
    int pool_questions = 0;
    int context_questions = 0;
    std::function<Result()> result;
    std::function<void()> during;  // what happens inside the real call
};
inline FakeDriver driver;

inline const DriverCalls kCalls = [] {
    DriverCalls calls{};
    calls.ctx_get_current = [](Handle* context) {
        ++driver.context_questions;
        *context = driver.current;
        return 0;
    };
    calls.ctx_get_device = [](Ordinal* device) {
        *device = driver.device;
        return 0;
    };
    calls.mem_get_info = [](size_t* free_bytes, size_t* total) {
        *free_bytes = 10;
        *total = 100;
        return 0;
    };
    calls.pointer_get_attribute = [](void* data, Enum, DevicePointer) {
        *static_cast<int*>(data) = driver.pointer_device;
        return 0;
    };
    calls.device_get_name = [](char* name, int, Ordinal) {
        name[0] = 'G';
        name[1] = '\0';
        return 0;
    };
    calls.device_get_mem_pool = [](Handle* pool, Ordinal) {
        *pool = reinterpret_cast<Handle>(0x900);
        return 0;
    };
    calls.pool_get_attribute = [](Handle, Enum attribute, void* value) {
        ++driver.pool_questions;
        *static_cast<uint64_t*>(value) = attribute == kPoolReservedNow ? 32 : 16;
        return 0;
    };
    calls.stream_is_capturing = [](Handle, Enum* status) {
        *status = driver.capture_status;
        return 0;
    };
    calls.stream_get_capture_info = [](Handle, Enum* status, uint64_t*, Handle* graph, const Handle** nodes,
                                       size_t* count) {
        *status = driver.capture_status;
        *graph = driver.capture_graph;
        *nodes = &driver.capture_node;
        *count = 1;
        return 0;
    };
    calls.mem_get_address_range = [](DevicePointer* base, size_t* bytes, DevicePointer address) {
        *base = address;
        *bytes = 4096;
        return 0;
    };
    return calls;
}();

inline void start(Handle context = reinterpret_cast<Handle>(0x100)) {
    recorder.reset();
    driver = {};
    driver.current = context;
}

inline Handle handle(uintptr_t value) {
    return reinterpret_cast<Handle>(value);
}

inline Result answer() {
    if (driver.during) driver.during();
    return driver.result ? driver.result() : kSuccess;
}

// Calls the one wrapper body with a real function that answers as `driver` says.
template <typename Effect, Name kName, typename... Arguments>
Result call(Arguments... arguments) {
    Result (*real)(Arguments...) = [](Arguments...) { return answer(); };
    return DriverWrapper<Effect, kName>{reinterpret_cast<void*>(real), kCalls}(arguments...);
}

inline Result allocate(DevicePointer address, size_t bytes) {
    DevicePointer result = address;
    return call<device_memory::Allocates, Name::cuMemAlloc_v2>(&result, bytes);
}

inline Result free_memory(DevicePointer address) {
    return call<device_memory::Frees, Name::cuMemFree_v2>(address);
}

}  // namespace vramtrace::shim
