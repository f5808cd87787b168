// SPDX-License-Identifier: Apache-2.0
// The runtime's only way to the driver: a private table of pointers, filled once by the look-ups of driver_lookups.def.
// Members are named by what was asked: name_vVERSION, and _ptsz or _ptds for the per-thread default stream.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <driver_types.h>

#include <atomic>

namespace vramtrace::simulator::runtime {

// The header lists these two at their second version only; the first takes the same arguments.
using PFN_cuDevicePrimaryCtxRelease_v7000 = PFN_cuDevicePrimaryCtxRelease_v11000;
using PFN_cuDevicePrimaryCtxReset_v7000 = PFN_cuDevicePrimaryCtxReset_v11000;

struct DriverCalls {
#define LOOKUP(name, version, symbol) PFN_##name##_v##version name##_v##version;
#define LOOKUP_PTSZ(name, version, symbol) PFN_##name##_v##version##_ptsz name##_v##version##_ptsz;
#define LOOKUP_PTDS(name, version, symbol) PFN_##name##_v##version##_ptds name##_v##version##_ptds;
#define UNUSED_LOOKUP(name, version, flags)
#include "simulator/runtime/driver_lookups.def"
#undef LOOKUP
#undef LOOKUP_PTSZ
#undef LOOKUP_PTDS
#undef UNUSED_LOOKUP
};

/// What the first call found out about this process's driver. The table may be used only when `error` is cudaSuccess;
/// otherwise every runtime call answers `error`.
struct DriverAccess {
    std::atomic<cudaError_t> error;  // relaxed: set once under the once-flag, and again when the process ends
    int version;
    void* library;  // what dlopen gave
    DriverCalls calls;
};

/// Opens the driver on the first call, from whichever thread; thread-safe.
const DriverAccess& driver_access();

/// Makes every later call answer cudaErrorCudartUnloading.
void close_driver_access();

/// Highest driver API version this runtime may ask for, and its own version: 12000 or 13000 based.
#ifndef SIMULATED_CUDART_MAJOR
#error "SIMULATED_CUDART_MAJOR must be 12 or 13"
#endif
inline constexpr int kRuntimeMajor = SIMULATED_CUDART_MAJOR;
inline constexpr int kRuntimeVersion = kRuntimeMajor == 12 ? 12080 : 13000;

}  // namespace vramtrace::simulator::runtime
