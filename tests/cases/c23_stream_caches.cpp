// SPDX-License-Identifier: Apache-2.0
// A cache that is kept for each stream, and a new stream in every epoch: c23_stream_caches fresh | control
#include "tests/cases/segment_cache.h"

#include <map>

CASE_FUNCTION void prefetch(std::map<cudaStream_t, SegmentCache>& caches, cudaStream_t stream) {
    SegmentCache& cache = caches.try_emplace(stream, 64 * kGiB).first->second;
    cache.free(cache.allocate(512 * kMiB));
}

int main(int argc, char** argv) {
    const bool fresh = !is_part(argc, argv, "control");
    std::map<cudaStream_t, SegmentCache> caches;
    std::vector<cudaStream_t> streams;
    for (int epoch = 0; epoch < 10; ++epoch) {
        if (fresh || streams.empty()) MUST(cudaStreamCreate(&streams.emplace_back()));
        prefetch(caches, streams.back());
    }
    for (const cudaStream_t stream : streams) MUST(cudaStreamDestroy(stream));
    return 0;
}
