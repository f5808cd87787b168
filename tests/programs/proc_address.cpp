// SPDX-License-Identifier: Apache-2.0
// Clients of the driver's own resolver. One argument says which: v1 (four parameters), v2 (five), v2-null (no status
// wanted), ptsz (per-thread streams by flag), self (the resolver asks for itself in both versions).
#include "tests/programs/through_driver.h"

#include <dlfcn.h>
#include <cstring>
#include <string>

namespace {

using ResolverV1 = CUresult (*)(const char*, void**, int, cuuint64_t);
using ResolverV2 = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

template <typename Function>
Function symbol(void* handle, const char* name) {
    auto function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) fail(name, -1);
    return function;
}

/// What must not change with somebody in between: misses stay misses, with their codes and statuses.
void check_misses(ResolverV2 resolver) {
    void* found = reinterpret_cast<void*>(1);
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    MUST(resolver("cuNoSuchFunction", &found, 12000, 0, &status));
    MUST_HOLD(found == nullptr && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    found = reinterpret_cast<void*>(1);
    MUST(resolver("cuMemAllocAsync", &found, 11000, 0, &status));
    MUST_HOLD(found == nullptr && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    void* untouched = reinterpret_cast<void*>(1);
    MUST_HOLD(resolver("cuMemAlloc", &untouched, 99000, 0, &status) == CUDA_ERROR_INVALID_VALUE);
    MUST_HOLD(untouched == reinterpret_cast<void*>(1));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string how = argc > 1 ? argv[1] : "v2";
    void* handle = dlopen("libcuda.so.1", RTLD_NOW);
    if (handle == nullptr) fail(dlerror(), 0);

    ResolverV1 v1 = nullptr;
    ResolverV2 v2 = nullptr;
    if (how == "v1") {
        v1 = symbol<ResolverV1>(handle, "cuGetProcAddress");
    } else {
        v2 = symbol<ResolverV2>(handle, "cuGetProcAddress_v2");
    }
    if (how == "self") {
        // Below 12000 the name means the resolver with four parameters, from 12000 the one with five.
        void* old_resolver = nullptr;
        void* new_resolver = nullptr;
        MUST(v2("cuGetProcAddress", &old_resolver, 11030, 0, nullptr));
        MUST(v2("cuGetProcAddress", &new_resolver, 12000, 0, nullptr));
        MUST_HOLD(old_resolver != nullptr && new_resolver != nullptr && old_resolver != new_resolver);
        v1 = reinterpret_cast<ResolverV1>(old_resolver);
        v2 = reinterpret_cast<ResolverV2>(new_resolver);
    }
    if (v2 != nullptr) check_misses(v2);

    const bool per_thread = how == "ptsz";
    const auto resolve = [&](bool use_v1) {
        return [&, use_v1](const char*, const char* base, int version) {
            void* found = nullptr;
            if (use_v1) {
                MUST(v1(base, &found, version, 0));
            } else {
                CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
                const bool wants_status = how != "v2-null";
                MUST(v2(base, &found, version < 7000 && per_thread ? 7000 : version,
                        per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_DEFAULT,
                        wants_status ? &status : nullptr));
                MUST_HOLD(!wants_status || status == CU_GET_PROC_ADDRESS_SUCCESS);
            }
            return found;
        };
    };
    const char* async_name = per_thread ? "cuMemAllocAsync_ptsz" : "cuMemAllocAsync";
    if (v1 != nullptr) allocate_through_driver(find_driver_functions(resolve(true)), 50000, async_name);
    if (v2 != nullptr) allocate_through_driver(find_driver_functions(resolve(false)), 60000, async_name);
    return 0;
}
