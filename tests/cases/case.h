// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share. Each is one public report rebuilt: its first argument chooses a part of it, or
// "control", the same program done right. Only public API, so that they also run on a real GPU.
#pragma once

#include "tests/programs/expect.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

/// A call site of its own in the report: never inlined, no clone of another name.
#define CASE_FUNCTION extern "C" __attribute__((noinline, noclone))

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kGiB = size_t{1} << 30;

inline bool is_part(int argc, char** argv, const char* name) {
    return argc > 1 && std::string(argv[1]) == name;
}

inline void* device_memory(size_t bytes) {
    void* pointer = nullptr;
    MUST(cudaMalloc(&pointer, bytes));
    return pointer;
}

/// A context, for programs that call the driver themselves.
inline void current_primary_context() {
    MUST(cuInit(0));
    CUdevice device = 0;
    MUST(cuDeviceGet(&device, 0));
    CUcontext context = nullptr;
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
}
