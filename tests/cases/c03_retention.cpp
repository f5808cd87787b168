// SPDX-License-Identifier: Apache-2.0
// Objects that something else still refers to: c03_retention collected | appended | control
// collected: 20 modules that only a late collection frees; appended: results of 50 steps stay in a list; control: they do
// not.
#include "tests/cases/case.h"

#include <vector>

CASE_FUNCTION void* module_on_device() {
    return device_memory(100 * kMiB);
}

CASE_FUNCTION void* forward() {
    return device_memory(20 * kMiB);
}

CASE_FUNCTION void collect(std::vector<void*>& unreachable) {
    for (void* memory : unreachable) MUST(cudaFree(memory));
    unreachable.clear();
}

int main(int argc, char** argv) {
    std::vector<void*> held;
    if (is_part(argc, argv, "collected")) {
        for (int i = 0; i < 20; ++i) held.push_back(module_on_device());
        collect(held);
        return 0;
    }
    const bool append = is_part(argc, argv, "appended");
    for (int step = 0; step < 50; ++step) {
        void* const result = forward();
        if (append) {
            held.push_back(result);
        } else {
            MUST(cudaFree(result));
        }
    }
    return 0;
}
