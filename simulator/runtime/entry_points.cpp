// SPDX-License-Identifier: Apache-2.0
// How a runtime reaches its driver: dlopen, ONE dlsym, then only cuGetProcAddress_v2. Nothing here links to libcuda.
#include "simulator/runtime/driver_calls.h"
#include "simulator/runtime/primary_context.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>

#ifdef SIMULATED_CUDART_OLD_DLSYM
// A distributed shared runtime imports these at the oldest version of the platform; a statically linked one at that of
// the linking toolchain. Interposers must satisfy both, so the simulated libraries differ in the same way.
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#endif

namespace vramtrace::simulator::runtime {
namespace {

struct Lookup {
    const char* name;
    int version;
    cuuint64_t flags;
    const char* symbol;  // for drivers without cuGetProcAddress_v2
    void** place;        // where the answer goes; null when nobody uses it
};

DriverAccess access_{};
pthread_once_t once_ = PTHREAD_ONCE_INIT;
pid_t owner_ = 0;

CUresult answer_not_supported() {
    return CUDA_ERROR_NOT_SUPPORTED;
}

#define PLACE(member) reinterpret_cast<void**>(&access_.calls.member)
const Lookup kLookups[] = {
#define LOOKUP(name, version, symbol) {#name, version, 0, #symbol, PLACE(name##_v##version)},
#define LOOKUP_PTSZ(name, version, symbol) {#name, version, 2, #symbol, PLACE(name##_v##version##_ptsz)},
#define LOOKUP_PTDS(name, version, symbol) {#name, version, 2, #symbol, PLACE(name##_v##version##_ptds)},
#define UNUSED_LOOKUP(name, version, flags) {#name, version, flags, #name, nullptr},
#include "simulator/runtime/driver_lookups.def"
#undef LOOKUP
#undef LOOKUP_PTSZ
#undef LOOKUP_PTDS
#undef UNUSED_LOOKUP
};
#undef PLACE
static_assert(std::size(kLookups) == 440);

void look_up_all(void* driver) {
    auto resolver = reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(driver, "cuGetProcAddress_v2"));
    for (const Lookup& lookup : kLookups) {
        void* found = nullptr;
        if (resolver != nullptr) {
            if (resolver(lookup.name, &found, lookup.version, lookup.flags, nullptr) != CUDA_SUCCESS) found = nullptr;
        } else {
            found = dlsym(driver, lookup.symbol);
        }
        if (lookup.place != nullptr) *lookup.place = found;
    }
}

// An older driver lacks some names: those calls answer NOT_SUPPORTED instead of jumping to address 0. All arguments
// travel in registers or on the caller's stack, so one function without parameters can stand in for any of them.
void fill_gaps() {
    for (const Lookup& lookup : kLookups) {
        if (lookup.place != nullptr && *lookup.place == nullptr) {
            *lookup.place = reinterpret_cast<void*>(&answer_not_supported);
        }
    }
}

void tear_down() {
    // A forked child inherits the handler but may not touch the parent's driver state.
    if (owner_ == getpid()) release_everything(access_.calls);
    close_driver_access();
}

void open_driver() {
    access_.error = cudaErrorInsufficientDriver;
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) return;
    access_.library = driver;
    look_up_all(driver);
    DriverCalls& calls = access_.calls;
    if (calls.cuInit_v2000 == nullptr || calls.cuDriverGetVersion_v2020 == nullptr ||
        calls.cuCtxGetCurrent_v4000 == nullptr) {
        return;
    }
    fill_gaps();
    if (calls.cuDriverGetVersion_v2020(&access_.version) != CUDA_SUCCESS) return;
    if (access_.version < kRuntimeMajor * 1000) return;
    const auto started = static_cast<cudaError_t>(calls.cuInit_v2000(0));
    access_.error = started;
    if (started != cudaSuccess) return;
    owner_ = getpid();
    std::atexit(tear_down);
}

}  // namespace

const DriverAccess& driver_access() {
    pthread_once(&once_, open_driver);
    return access_;
}

void close_driver_access() {
    access_.error = cudaErrorCudartUnloading;
}

}  // namespace vramtrace::simulator::runtime
