// SPDX-License-Identifier: Apache-2.0
// A program that uses the runtime and nothing else. Built with shared and static runtime, for the legacy and the
// per-thread default stream, and against the runtime of CUDA 12.
#include "tests/programs/through_runtime.h"

int main() {
    allocate_through_runtime(10000);
    return 0;
}
