// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/virtual_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "simulator/driver/allocations.h"
#include "simulator/driver/sharing.h"
#include "simulator/driver/virtual_memory_map.h"

namespace vramtrace::simulator {
namespace {

void* at(uint64_t address) {
    return reinterpret_cast<void*>(address);
}

}  // namespace

std::map<uint64_t, Reservation>& reservations() {
    static auto* const table = new std::map<uint64_t, Reservation>;
    return *table;
}

std::map<uint64_t, Mapping>& mappings() {
    static auto* const table = new std::map<uint64_t, Mapping>;
    return *table;
}

PhysicalTable& physicals() {
    static auto* const table = new PhysicalTable;
    return *table;
}

Physical& physical_of(CUmemGenericAllocationHandle handle) {
    Physical* physical = physicals().find(handle);
    // Released handles with mappings left are no handles any more.
    require(physical != nullptr && physical->references > 0);
    return *physical;
}

void drop_if_unused(Physical& physical) {
    if (physical.references > 0 || physical.mappings > 0) {
        return;
    }
    for (const auto& [offset, bound] : physical.bound) {
        bound.first->mappings -= 1;
        drop_if_unused(*bound.first);
    }
    if (physical.backing != 0) {
        munmap(at(physical.backing), physical.bytes);
    }
    if (physical.descriptor >= 0) {
        struct stat status {};
        if (fstat(physical.descriptor, &status) == 0 && status.st_ino == physical.inode) {
            close(physical.descriptor);
        }
    }
    if (!physical.imported && !physical.multicast) {
        physical.device->memory.give_back(physical.bytes, Use::kAllocations);
    }
    remove_from_book(physical.sequence);
    physicals().remove(physical);
}

// One more address for the same bytes: a second view of the backing. The file is needed only across processes.
bool map_view(const Physical& physical, uint64_t offset, uint64_t bytes, uint64_t address) {
    if (physical.backing == 0) {  // multicast: bytes without a place of their own
        make_private_again(address, bytes);
        mprotect(at(address), bytes, PROT_NONE);
        return true;
    }
    void* view = mremap(at(physical.backing + offset), 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(address));
    if (view == MAP_FAILED) {
        return false;
    }
    mprotect(at(address), bytes, PROT_NONE);
    return true;
}

void unmap_view(uint64_t address, uint64_t bytes) {
    mmap(at(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void set_protection(uint64_t address, Mapping& mapping) {
    mapping.readable = false;
    mapping.writable = false;
    for (const auto& [device, flags] : mapping.access) {
        mapping.readable = mapping.readable || flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
        mapping.writable = mapping.writable || flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    mprotect(at(address), mapping.bytes,
             mapping.writable   ? PROT_READ | PROT_WRITE
             : mapping.readable ? PROT_READ
                                : PROT_NONE);
}

FoundMapping mapping_containing(uint64_t address) {
    auto next = mappings().upper_bound(address);
    if (next == mappings().begin()) {
        return {0, nullptr};
    }
    --next;
    return address - next->first < next->second.bytes ? FoundMapping{next->first, &next->second}
                                                      : FoundMapping{0, nullptr};
}

bool is_mapped_range(uint64_t address, uint64_t bytes) {
    while (true) {
        const FoundMapping found = mapping_containing(address);
        if (found.mapping == nullptr || !found.mapping->readable) {
            return false;
        }
        const uint64_t here = found.mapping->bytes - (address - found.base);
        if (bytes <= here) {
            return true;
        }
        address += here;
        bytes -= here;
    }
}

bool is_reserved(uint64_t address, uint64_t* base, uint64_t* bytes) {
    auto next = reservations().upper_bound(address);
    if (next == reservations().begin()) {
        return false;
    }
    --next;
    if (address - next->first >= next->second.bytes) {
        return false;
    }
    *base = next->first;
    *bytes = next->second.bytes;
    return true;
}

}  // namespace vramtrace::simulator
