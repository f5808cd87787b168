// SPDX-License-Identifier: Apache-2.0
// Communicators dropped without being destroyed: c50_communicators dropped | control
// One process, two devices, ten cycles. control: destroyed, so that only the library's one-time rest stays.
#include "tests/cases/case.h"
#include "tests/cases/communicators.h"

CASE_FUNCTION void parallel_group(bool destroys) {
    stand_in_communicator* const ranks[] = {stand_in_create_communicator(0), stand_in_create_communicator(1)};
    for (stand_in_communicator* rank : ranks) {
        if (destroys) stand_in_destroy_communicator(rank);
    }
}

int main(int argc, char** argv) {
    for (int cycle = 0; cycle < 10; ++cycle) parallel_group(is_part(argc, argv, "control"));
    return 0;
}
