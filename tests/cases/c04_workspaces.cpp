// SPDX-License-Identifier: Apache-2.0
// A math library keeps a workspace for every stream it ever saw: c04_workspaces once | again | control
// once: 8 streams; again: five times the same 8 streams, which adds nothing; control: the handle is destroyed.
#include "tests/cases/case.h"
#include "tests/cases/workspaces.h"

#include <vector>

CASE_FUNCTION void small_matmul(cudaStream_t stream) {
    void* const operands = device_memory(kMiB);
    stand_in_matmul(stream, 8519680);
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaFree(operands));
}

int main(int argc, char** argv) {
    std::vector<cudaStream_t> streams(8);
    for (cudaStream_t& stream : streams) MUST(cudaStreamCreate(&stream));
    const int rounds = is_part(argc, argv, "again") ? 5 : 1;
    for (int round = 0; round < rounds; ++round) {
        for (const cudaStream_t stream : streams) small_matmul(stream);
    }
    if (is_part(argc, argv, "control")) stand_in_destroy_handle();
    for (const cudaStream_t stream : streams) MUST(cudaStreamDestroy(stream));
    return 0;
}
