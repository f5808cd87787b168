// SPDX-License-Identifier: Apache-2.0
// More events than a small buffer takes: c37_lost_records pairs | control
// Five leaks at the start, then quick pairs (control: 10 of them).
#include "tests/cases/case.h"

CASE_FUNCTION void real_leak() {
    (void)device_memory(kMiB);
}

CASE_FUNCTION void quick_pair() {
    MUST(cudaFree(device_memory(kMiB)));
}

int main(int argc, char** argv) {
    const int pairs = is_part(argc, argv, "control") ? 10 : 100000;
    for (int i = 0; i < 5; ++i) real_leak();
    for (int i = 0; i < pairs; ++i) quick_pair();
    return 0;
}
