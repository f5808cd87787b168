// SPDX-License-Identifier: Apache-2.0
// Contexts that nobody asked for: c46_contexts workers | helper | control
// workers: six children only select device 0 and initialise it; helper: works on device 1 while another thread pins memory
// without selecting a device; control: that thread selects device 1 too.
#include "tests/cases/case.h"

#include <sys/wait.h>
#include <unistd.h>
#include <thread>

CASE_FUNCTION void selects_a_device() {
    MUST(cudaSetDevice(0));
    MUST(cudaFree(nullptr));
}

CASE_FUNCTION void helper_pins_memory(bool selects) {
    if (selects) MUST(cudaSetDevice(1));
    void* memory = nullptr;
    MUST(cudaHostAlloc(&memory, kMiB, cudaHostAllocDefault));
    MUST(cudaFreeHost(memory));
}

int main(int argc, char** argv) {
    if (is_part(argc, argv, "workers")) {
        for (int i = 0; i < 6; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                selects_a_device();
                return 0;
            }
            int status = 0;
            MUST_HOLD(waitpid(child, &status, 0) == child && status == 0);
        }
        return 0;
    }
    MUST(cudaSetDevice(1));
    MUST(cudaFree(device_memory(kMiB)));
    std::thread(helper_pins_memory, is_part(argc, argv, "control")).join();
    return 0;
}
