// SPDX-License-Identifier: Apache-2.0
// A program that opens the driver itself and looks exact names up, as cuFFT and XLA do. One argument says how:
//   now · lazy · global · deepbind · unversioned (libcuda.so) · absolute · dlmopen · noload · twice
#include "tests/programs/through_driver.h"

#include <dlfcn.h>
#include <unistd.h>
#include <climits>
#include <cstring>
#include <string>

namespace {

/// The file that the loader would take for libcuda.so.1, found without loading anything.
std::string absolute_path() {
    const char* folders = std::getenv("LD_LIBRARY_PATH");
    std::string rest = folders != nullptr ? folders : "";
    while (!rest.empty()) {
        const size_t colon = rest.find(':');
        const std::string candidate = rest.substr(0, colon) + "/libcuda.so.1";
        char resolved[PATH_MAX];
        if (realpath(candidate.c_str(), resolved) != nullptr) return resolved;
        rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    }
    fail("no libcuda.so.1 in LD_LIBRARY_PATH", 0);
}

void* open_driver(const std::string& how) {
    if (how == "now" || how == "twice") return dlopen("libcuda.so.1", RTLD_NOW);
    if (how == "lazy") return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (how == "global") return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (how == "deepbind") return dlopen("libcuda.so.1", RTLD_NOW | RTLD_DEEPBIND);
    if (how == "unversioned") return dlopen("libcuda.so", RTLD_NOW);
    if (how == "absolute") return dlopen(absolute_path().c_str(), RTLD_NOW);
    if (how == "dlmopen") return dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
    if (how == "noload") {
        // Nobody has loaded a driver yet: the probe must say so, whoever else is in this process.
        MUST_HOLD(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr);
        void* loaded = dlopen("libcuda.so.1", RTLD_NOW);
        void* probed = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        MUST_HOLD(loaded == probed);
        return probed;
    }
    fail("unknown way to open the driver", 0);
}

DriverFunctions look_up(void* handle) {
    return find_driver_functions([&](const char* symbol, const char*, int) { return dlsym(handle, symbol); });
}

}  // namespace

int main(int argc, char** argv) {
    const std::string how = argc > 1 ? argv[1] : "now";
    void* handle = open_driver(how);
    if (handle == nullptr) fail(dlerror(), 0);
    // A name that no driver has must stay unknown, with an error text.
    dlerror();
    MUST_HOLD(dlsym(handle, "cuNoSuchFunction") == nullptr);
    MUST_HOLD(dlerror() != nullptr);
    allocate_through_driver(look_up(handle), 30000, "cuMemAllocAsync");
    if (how == "twice") {
        // Close and open again: the context is still there, the second round's pointers must be as good as the first's.
        MUST(dlclose(handle));
        handle = open_driver("now");
        MUST_HOLD(handle != nullptr);
        allocate_through_driver(look_up(handle), 40000, "cuMemAllocAsync");
    }
    return 0;
}
