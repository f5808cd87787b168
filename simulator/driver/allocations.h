// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "simulator/driver/contexts.h"

namespace vramtrace::simulator {

struct Pool;

// One range of addresses that a call gave out (or registered), of whatever kind has an address.
struct Allocation {
    uint32_t kind = 0;
    uint64_t base = 0;
    uint64_t bytes = 0;            // as asked
    PagedHeap::Piece piece{0, 0};  // device and pinned memory
    uint64_t mapped_bytes = 0;     // own mapping: managed memory and imports
    Context* context = nullptr;
    Device* device = nullptr;
    Pool* pool = nullptr;
    unsigned int flags = 0;   // of the call that made it
    unsigned int opened = 0;  // IPC: times opened
    uint64_t import_key = 0;  // IPC: which foreign memory
    uint64_t sequence = 0;
    uint64_t buffer_id = 0;
    bool managed = false;
};

Allocation& add_allocation(Allocation allocation, uint64_t local_bytes);
// A range that addresses may point into but that is no allocation of the program: a module's variable.
void add_variable(uint64_t address, uint64_t bytes, Context* context, Device* device, bool managed);
void remove_variable(uint64_t address);
Allocation* allocation_at(uint64_t base);             // exact
Allocation* allocation_containing(uint64_t address);  // interior too
void strike(Allocation& allocation);                  // out of the ledger and the table
void release(Allocation& allocation);                 // strike, and memory back to where it came from
const std::map<uint64_t, std::unique_ptr<Allocation>>& allocations();

// True if [address, address + bytes) is device-accessible memory that the simulator gave out.
bool is_device_range(uint64_t address, uint64_t bytes);
// The allocation, mapping or reservation that holds the address; refuses if there is none.
void find_range(uint64_t address, uint64_t& base, uint64_t& bytes);
bool is_host_kind(uint32_t kind);

uint64_t add_to_book(Book::Item item);
void remove_from_book(uint64_t sequence);
CUdeviceptr to_pointer(uint64_t address);

}  // namespace vramtrace::simulator
