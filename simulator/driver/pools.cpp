// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/pools.h"

#include <algorithm>
#include <initializer_list>

#include "simulator/driver/graph_memory.h"
#include "simulator/driver/sharing.h"

namespace vramtrace::simulator {
namespace {

constexpr uint64_t kStep = uint64_t{32} << 20;

struct DevicePools {
    Pool* standard = nullptr;
    Pool* current = nullptr;
};

DevicePools& pools_of(Device& device) {
    static auto* const table = new std::map<Device*, DevicePools>;
    DevicePools& found = (*table)[&device];
    if (found.standard == nullptr) {
        auto pool = std::make_unique<Pool>();
        pool->device = &device;
        pool->is_default = true;
        found.standard = &pools().add(std::move(pool));
        found.current = found.standard;
        // What the driver does by itself when the device is short of memory.
        device.memory.reclaim = [&device] {
            finish_streams_of(device);
            trim_all_pools(device);
            trim_graph_memory(device);
        };
    }
    return found;
}

bool grow(Pool& pool, uint64_t bytes) {
    PhysicalMemory& memory = pool.device->memory;
    for (const uint64_t unit : {kStep, kPage}) {
        const uint64_t slab = round_up(bytes, unit);
        if (slab < bytes || (pool.max_bytes != 0 && pool.reserved + slab > pool.max_bytes) ||
            !memory.take(slab, Use::kPools)) {
            continue;
        }
        const auto address = pool.device->arena.take(slab);
        if (!address) {
            memory.give_back(slab, Use::kPools);
            return false;
        }
        pool.space.add_slab(*address, slab);
        pool.reserved += slab;
        pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
        return true;
    }
    return false;
}

void drop_if_done(Pool& pool) {
    if (pool.destroyed && pool.outstanding == 0) {
        trim(pool, 0);
        remove_from_book(pool.sequence);
        pools().remove(pool);
    }
}

uint64_t rounded(uint64_t bytes) {
    return round_up(bytes, SlabSpace::kGranule);
}

}  // namespace

PoolTable& pools() {
    static auto* const table = new PoolTable;
    return *table;
}

Pool& pool_of(CUmemoryPool handle) {
    Pool* pool = pools().find(handle);
    require(pool != nullptr && !pool->destroyed);
    return *pool;
}

Pool& default_pool(Device& device) {
    return *pools_of(device).standard;
}

Pool& current_pool(Device& device) {
    return *pools_of(device).current;
}

void set_current_pool(Device& device, Pool& pool) {
    pools_of(device).current = &pool;
}

void destroy_pool(Pool& pool) {
    require(!pool.is_default);
    DevicePools& device = pools_of(*pool.device);
    if (device.current == &pool) {
        device.current = device.standard;
    }
    pool.destroyed = true;
    drop_if_done(pool);
}

Allocation& allocate_from(Pool& pool, uint64_t bytes, Context* context) {
    require(bytes != 0 && !pool.imported);
    require(bytes <= pool.device->memory.total(), CUDA_ERROR_OUT_OF_MEMORY);
    const uint64_t size = rounded(bytes);
    auto address = pool.space.take(size);
    if (!address) {
        require(grow(pool, size), CUDA_ERROR_OUT_OF_MEMORY);
        address = pool.space.take(size);
    }
    pool.used += size;
    pool.used_high = std::max(pool.used_high, pool.used);
    pool.outstanding += 1;
    Allocation allocation;
    allocation.kind = VRAMTRACE_SIM_STREAM_ORDERED;
    allocation.base = *address;
    allocation.bytes = bytes;
    allocation.piece = {*address, size};
    allocation.context = context;
    allocation.device = pool.device;
    allocation.pool = &pool;
    return add_allocation(allocation, bytes);
}

void give_back_to_pool(Pool& pool, const PagedHeap::Piece& piece, uint64_t) {
    pool.space.give_back(piece.address, piece.physical_bytes, false);
    pool.used -= piece.physical_bytes;
    pool.outstanding -= 1;
    drop_if_done(pool);
}

void free_in_stream(Allocation& allocation, Stream& stream) {
    if (stream.finished >= stream.submitted || allocation.kind != VRAMTRACE_SIM_STREAM_ORDERED) {
        release(allocation);
        return;
    }
    // In the program's order it is free now; the pool gets it when the stream comes there.
    stream.pending.push_back({allocation.pool, allocation.piece, allocation.bytes, stream.submitted});
    strike(allocation);
}

void trim(Pool& pool, uint64_t keep) {
    pool.space.drop_empty_slabs([&](uint64_t) { return pool.reserved > keep; },
                                [&](uint64_t address, uint64_t bytes) {
                                    forget_shared_block(address, bytes);
                                    pool.device->arena.give_back(address);
                                    pool.device->memory.give_back(bytes, Use::kPools);
                                    pool.reserved -= bytes;
                                });
}

void trim_pools_after_sync(Device& device) {
    pools().for_each([&](Pool& pool) {
        if (pool.device == &device && pool.reserved > pool.threshold) {
            trim(pool, pool.threshold);
        }
    });
}

void trim_all_pools(Device& device) {
    pools().for_each([&](Pool& pool) {
        if (pool.device == &device) {
            trim(pool, 0);
        }
    });
}

uint64_t pending_bytes(int device) {
    uint64_t bytes = 0;
    const auto add = [&](const Stream& stream) {
        for (const PendingFree& free : stream.pending) {
            bytes += free.bytes;
        }
    };
    for_each_stream_on(*Machine::get().device(device), add);
    return bytes;
}

}  // namespace vramtrace::simulator
