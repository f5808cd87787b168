// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/runtime/recording_driver.h"

#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <map>

namespace {

struct Row {
    const char* name;
    int version;
    unsigned long long flags;
    const char* symbol;
};

constexpr Row kRows[] = {
#define LOOKUP(name, version, symbol) {#name, version, 0, #symbol},
#define LOOKUP_PTSZ(name, version, symbol) {#name, version, 2, #symbol},
#define LOOKUP_PTDS(name, version, symbol) {#name, version, 2, #symbol},
#define UNUSED_LOOKUP(name, version, flags) {#name, version, flags, #name},
#include "simulator/runtime/driver_lookups.def"
#undef LOOKUP
#undef LOOKUP_PTSZ
#undef LOOKUP_PTDS
#undef UNUSED_LOOKUP
};
constexpr int kRowCount = sizeof kRows / sizeof kRows[0];

std::vector<recording_driver::Question> questions_;
std::vector<std::string> calls_;
std::map<std::string, int> results_;
CUcontext current_ = nullptr;
int primary_context_ = 0;  // its address is the context
int library_ = 0;
int kernel_ = 0;

CUresult answer(const char* symbol) {
    const auto found = results_.find(symbol);
    return found == results_.end() ? CUDA_SUCCESS : static_cast<CUresult>(found->second);
}

template <int Index>
CUresult record() {
    calls_.push_back(kRows[Index].symbol);
    return answer(kRows[Index].symbol);
}

template <int Index>
void fill(void** table) {
    table[Index] = reinterpret_cast<void*>(&record<Index>);
    if constexpr (Index > 0) fill<Index - 1>(table);
}

// The few whose answers matter to the runtime.
CUresult get_version(int* version) {
    const char* wanted = std::getenv("RECORDING_DRIVER_VERSION");
    *version = wanted != nullptr ? std::atoi(wanted) : 13000;
    return CUDA_SUCCESS;
}

CUresult get_current(CUcontext* context) {
    *context = current_;
    return CUDA_SUCCESS;
}

CUresult get_device(CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult set_current(CUcontext context) {
    calls_.push_back("cuCtxSetCurrent");
    current_ = context;
    return CUDA_SUCCESS;
}

CUresult retain(CUcontext* context, CUdevice) {
    calls_.push_back("cuDevicePrimaryCtxRetain");
    *context = reinterpret_cast<CUcontext>(&primary_context_);
    return answer("cuDevicePrimaryCtxRetain");
}

CUresult get_count(int* count) {
    *count = 2;
    return CUDA_SUCCESS;
}

CUresult load_library(CUlibrary* library, const void*, CUjit_option*, void**, unsigned int, CUlibraryOption*, void**,
                      unsigned int) {
    calls_.push_back("cuLibraryLoadData");
    *library = reinterpret_cast<CUlibrary>(&library_);
    return answer("cuLibraryLoadData");
}

CUresult get_kernel(CUkernel* kernel, CUlibrary, const char*) {
    calls_.push_back("cuLibraryGetKernel");
    *kernel = reinterpret_cast<CUkernel>(&kernel_);
    return answer("cuLibraryGetKernel");
}

const struct {
    const char* name;
    void* function;
} kSpecial[] = {
    {"cuDriverGetVersion", reinterpret_cast<void*>(get_version)},
    {"cuCtxGetCurrent", reinterpret_cast<void*>(get_current)},
    {"cuCtxGetDevice", reinterpret_cast<void*>(get_device)},
    {"cuCtxSetCurrent", reinterpret_cast<void*>(set_current)},
    {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(retain)},
    {"cuDeviceGetCount", reinterpret_cast<void*>(get_count)},
    {"cuLibraryLoadData", reinterpret_cast<void*>(load_library)},
    {"cuLibraryGetKernel", reinterpret_cast<void*>(get_kernel)},
};

}  // namespace

extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(const char* name, void** found,
                                                                               int version, cuuint64_t flags,
                                                                               CUdriverProcAddressQueryResult* status) {
    static void* table[kRowCount];
    if (table[0] == nullptr) fill<kRowCount - 1>(table);
    questions_.push_back({name, version, flags, status != nullptr});
    *found = nullptr;
    if (std::getenv("RECORDING_DRIVER_KNOWS_NOTHING") != nullptr) return CUDA_ERROR_NOT_FOUND;
    if (std::strcmp(name, "cuGetProcAddress") == 0) *found = reinterpret_cast<void*>(&cuGetProcAddress_v2);
    for (const auto& special : kSpecial) {
        if (std::strcmp(special.name, name) == 0) *found = special.function;
    }
    for (int i = 0; *found == nullptr && i < kRowCount; ++i) {
        const Row& row = kRows[i];
        if (std::strcmp(row.name, name) == 0 && row.version == version && row.flags == flags) *found = table[i];
    }
    return CUDA_SUCCESS;
}

namespace recording_driver {

const std::vector<Question>& questions() {
    return questions_;
}
std::vector<std::string> calls() {
    return calls_;
}
void clear_calls() {
    calls_.clear();
}
void set_result(const std::string& symbol, int code) {
    results_[symbol] = code;
}

}  // namespace recording_driver
