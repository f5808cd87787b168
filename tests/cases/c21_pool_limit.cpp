// SPDX-License-Identifier: Apache-2.0
// A pool refuses at its own limit while it is empty: c21_pool_limit early | control
// 1 GiB of limit, 512 MiB allocated and freed, 768 MiB asked for. No CUDA call fails. control: the cache is flushed first.
#include "tests/cases/segment_cache.h"

CASE_FUNCTION void* first_array(SegmentCache& pool) {
    return pool.allocate(512 * kMiB);
}

CASE_FUNCTION void* second_array(SegmentCache& pool) {
    return pool.allocate(768 * kMiB);
}

int main(int argc, char** argv) {
    SegmentCache pool(kGiB);
    pool.free(first_array(pool));
    if (is_part(argc, argv, "control")) pool.release_free_segments();
    try {
        pool.free(second_array(pool));
        pool.release_free_segments();
    } catch (const std::bad_alloc&) {
        std::printf("out of the pool's own limit\n");
    }
    return 0;
}
