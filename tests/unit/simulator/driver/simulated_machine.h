// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <stdlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/ledger.h"
#include "tests/support/catch.h"

// This program's machine: two devices of 1 GiB whose contexts cost 32 MiB. Set before the driver reads it.
[[gnu::constructor]] inline void describe_machine() {
    setenv("VRAMTRACE_SIM_DEVICES", "2", 0);
    setenv("VRAMTRACE_SIM_MEMORY", "1G", 0);
    setenv("VRAMTRACE_SIM_CONTEXT_MIB", "32", 0);
}

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kContextBytes = 32 * kMiB;
constexpr uint64_t kDeviceBytes = 1024 * kMiB;

// A fresh primary context on device 0, current; everything of it ends with the test.
struct PrimaryContext {
    CUcontext context = nullptr;
    CUdevice device;
    explicit PrimaryContext(CUdevice ordinal = 0) : device(ordinal) {
        REQUIRE(cuInit(0) == CUDA_SUCCESS);
        REQUIRE(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
        REQUIRE(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    }
    ~PrimaryContext() {
        cuCtxSetCurrent(nullptr);
        cuDevicePrimaryCtxRelease(device);
    }
    PrimaryContext(const PrimaryContext&) = delete;
    PrimaryContext& operator=(const PrimaryContext&) = delete;
};

inline vramtrace_sim_totals totals(int quantity, int device = 0) {
    vramtrace_sim_totals result{};
    REQUIRE(vramtrace_sim_get_totals(quantity, device, &result) == 0);
    return result;
}

inline uint64_t live_bytes(int quantity, int device = 0) {
    return totals(quantity, device).live_bytes;
}

inline uint64_t live_count(int quantity, int device = VRAMTRACE_SIM_ALL_DEVICES) {
    return totals(quantity, device).live_count;
}

inline uint64_t used_bytes(int device = 0) {
    vramtrace_sim_device_use use{};
    REQUIRE(vramtrace_sim_get_device_use(device, &use) == 0);
    return use.used_bytes;
}

inline std::vector<vramtrace_sim_allocation> everything_live() {
    std::vector<vramtrace_sim_allocation> result(vramtrace_sim_live(nullptr, 0));
    vramtrace_sim_live(result.data(), result.size());
    return result;
}

inline CUmemAllocationProp on_device(int device, CUmemAllocationHandleType handles = CU_MEM_HANDLE_TYPE_NONE) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    properties.requestedHandleTypes = handles;
    return properties;
}
