// SPDX-License-Identifier: Apache-2.0
// Three leaks of 10 MiB, built with all kinds of debug information and none: c39_three_leaks
#include "tests/cases/case.h"

#include <cstdio>

CASE_FUNCTION void leaks_ten_megabytes() {
    (void)device_memory(10 * kMiB);
}

int main() {
    for (int i = 0; i < 3; ++i) leaks_ten_megabytes();
    return 0;
}
