// SPDX-License-Identifier: Apache-2.0
// Memory allocated inside a graph outlives its executable: c07_graph_memory kept | control
// Ten cycles of capture, two launches (auto free on launch), destroy. Prints the driver's own count after each:
//   graph CYCLE USED RESERVED
// control: the graph frees what it allocates.
#include "tests/cases/case.h"

namespace {

size_t graph_memory(cudaGraphMemAttributeType attribute) {
    size_t bytes = 0;
    MUST(cudaDeviceGetGraphMemAttribute(0, attribute, &bytes));
    return bytes;
}

}  // namespace

CASE_FUNCTION void captured_arrays(cudaStream_t stream, bool free_again) {
    void* array = nullptr;
    MUST(cudaMallocAsync(&array, 64 * kMiB, stream));
    MUST(cudaMemsetAsync(array, 0, 64 * kMiB, stream));
    if (free_again) MUST(cudaFreeAsync(array, stream));
}

int main(int argc, char** argv) {
    const bool free_again = is_part(argc, argv, "control");
    cudaStream_t stream = nullptr;
    MUST(cudaStreamCreate(&stream));
    for (int cycle = 0; cycle < 10; ++cycle) {
        cudaGraph_t graph = nullptr;
        MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        captured_arrays(stream, free_again);
        MUST(cudaStreamEndCapture(stream, &graph));
        cudaGraphExec_t executable = nullptr;
        MUST(cudaGraphInstantiateWithFlags(&executable, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
        MUST(cudaGraphLaunch(executable, stream));
        MUST(cudaGraphLaunch(executable, stream));
        MUST(cudaStreamSynchronize(stream));
        MUST(cudaGraphExecDestroy(executable));
        MUST(cudaGraphDestroy(graph));
        std::printf("graph %d %zu %zu\n", cycle, graph_memory(cudaGraphMemAttrUsedMemCurrent),
                    graph_memory(cudaGraphMemAttrReservedMemCurrent));
    }
    MUST(cudaStreamDestroy(stream));
    return 0;
}
