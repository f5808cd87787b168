// SPDX-License-Identifier: Apache-2.0
// Runs with libneighbour.so preloaded: passes both of its forwarders.
#include "tests/programs/through_runtime.h"

#include <sys/resource.h>
#include <cerrno>

int main() {
    errno = 0;
    (void)getpriority(PRIO_PROCESS, 0);
    MUST_HOLD(errno == 0);
    allocate_through_runtime(300000);
    return 0;
}
