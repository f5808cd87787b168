// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/driver/handles.h"
#include "simulator/driver/streams.h"

namespace vramtrace::simulator {

// A memory pool. Grows by steps of 32 MiB; what is reserved beyond the release threshold goes back at a
// synchronisation, all of it when the device runs short.
struct Pool {
    Device* device = nullptr;
    bool is_default = false;
    bool destroyed = false;  // by the program; lives on until the last allocation is freed
    bool imported = false;   // from another process: owns no memory
    uint64_t threshold = 0;
    uint64_t max_bytes = 0;  // 0: none
    uint64_t reserved = 0;
    uint64_t reserved_high = 0;
    uint64_t used = 0;
    uint64_t used_high = 0;
    uint64_t outstanding = 0;  // allocations and pending frees
    uint64_t sequence = 0;
    CUmemAllocationHandleType handle_types = CU_MEM_HANDLE_TYPE_NONE;
    SlabSpace space;
    int reuse[3] = {1, 1, 1};
    std::map<int, CUmemAccess_flags> access;
};

using PoolTable = HandleTable<Pool, CUmemoryPool>;
PoolTable& pools();
Pool& pool_of(CUmemoryPool handle);  // not destroyed, else refuses
Pool& default_pool(Device& device);
Pool& current_pool(Device& device);
void set_current_pool(Device& device, Pool& pool);
void destroy_pool(Pool& pool);

Allocation& allocate_from(Pool& pool, uint64_t bytes, Context* context);
void give_back_to_pool(Pool& pool, const PagedHeap::Piece& piece, uint64_t bytes);
void free_in_stream(Allocation& allocation, Stream& stream);
void trim(Pool& pool, uint64_t keep);
void trim_pools_after_sync(Device& device);
void trim_all_pools(Device& device);

uint64_t pending_bytes(int device);

}  // namespace vramtrace::simulator
