// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>

#include "simulator/driver/allocations.h"
#include "simulator/driver/sharing.h"
#include "simulator/driver/virtual_memory_map.h"

using namespace vramtrace::simulator;

namespace {

void check_properties(const CUmemAllocationProp* prop) {
    require(prop != nullptr && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED);
    require(prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    device_of(prop->location.id);
    require((prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0, CUDA_ERROR_NOT_SUPPORTED);
}

// A place for the bytes: an anonymous file if other processes may get it, else plain shared memory, for which no
// descriptor stays open in the program.
bool give_backing(Physical& physical, int descriptor) {
    const int kind = descriptor >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
    void* mapped = mmap(nullptr, physical.bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, descriptor, 0);
    if (mapped == MAP_FAILED) {
        return false;
    }
    madvise(mapped, physical.bytes, MADV_DONTDUMP);
    physical.backing = reinterpret_cast<uint64_t>(mapped);
    physical.descriptor = descriptor;
    if (descriptor >= 0) {
        struct stat status {};
        fstat(descriptor, &status);
        physical.inode = status.st_ino;
    }
    return true;
}

Physical& add_physical(std::unique_ptr<Physical> physical, uint32_t kind) {
    Book::Item item;
    item.kind = kind;
    item.device = physical->device->ordinal;
    item.address = reinterpret_cast<uint64_t>(physical.get());
    item.local_bytes = physical->imported ? 0 : physical->bytes;
    item.extent_bytes = physical->bytes;
    item.physical_bytes = item.local_bytes;
    physical->references = 1;
    physical->sequence = add_to_book(item);
    return physicals().add(std::move(physical));
}

template <class Visit>
void for_each_mapping_in(uint64_t address, uint64_t bytes, Visit visit) {
    const uint64_t end = address + bytes;
    require(bytes != 0 && end > address);
    uint64_t next = address;
    // First a look: the range must consist of whole mappings.
    for (auto found = mappings().find(address); next < end; found = mappings().find(next)) {
        require(found != mappings().end() && found->second.bytes <= end - next);
        next += found->second.bytes;
    }
    for (next = address; next < end;) {
        const auto found = mappings().find(next);
        next += found->second.bytes;
        visit(found);
    }
}

}  // namespace

SIM_API(cuMemGetAllocationGranularity,
        (size_t * granularity, const CUmemAllocationProp* prop, CUmemAllocationGranularity_flags option),
        (granularity, prop, option)) {
    require(granularity != nullptr);
    check_properties(prop);
    *granularity = kPage;
    return CUDA_SUCCESS;
}

SIM_API(cuMemAddressReserve,
        (CUdeviceptr * ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags),
        (ptr, size, alignment, addr, flags)) {
    require(ptr != nullptr && size != 0 && size % kPage == 0 && flags == 0);
    require(alignment == 0 || std::has_single_bit(alignment));
    const uint64_t address = map_lazily(size, std::max<uint64_t>(alignment, kPage), false);
    require(address != 0, CUDA_ERROR_OUT_OF_MEMORY);
    Book::Item item;
    item.kind = VRAMTRACE_SIM_ADDRESS_RANGE;
    item.address = address;
    item.extent_bytes = size;
    const Context* context = current_context_or_null();
    item.device = context == nullptr ? -1 : context->device->ordinal;
    reservations()[address] = {size, add_to_book(item)};
    *ptr = to_pointer(address);
    return CUDA_SUCCESS;
}

SIM_API(cuMemAddressFree, (CUdeviceptr ptr, size_t size), (ptr, size)) {
    const auto found = reservations().find(ptr);
    require(found != reservations().end() && found->second.bytes == size);
    const auto mapped = mappings().lower_bound(ptr);
    require(mapped == mappings().end() || mapped->first >= ptr + size);
    unmap(ptr, size);
    remove_from_book(found->second.sequence);
    reservations().erase(found);
    return CUDA_SUCCESS;
}

SIM_API(cuMemCreate,
        (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp* prop, unsigned long long flags),
        (handle, size, prop, flags)) {
    require(handle != nullptr && size != 0 && size % kPage == 0 && flags == 0);
    check_properties(prop);
    auto physical = std::make_unique<Physical>();
    physical->bytes = size;
    physical->device = &device_of(prop->location.id);
    physical->properties = *prop;
    require(physical->device->memory.take(size, Use::kAllocations), CUDA_ERROR_OUT_OF_MEMORY);
    const int descriptor = prop->requestedHandleTypes != 0 ? make_shared_file(size) : -1;
    const bool file_refused = prop->requestedHandleTypes != 0 && descriptor < 0;
    if (file_refused || !give_backing(*physical, descriptor)) {
        physical->device->memory.give_back(size, Use::kAllocations);
        if (descriptor >= 0) {
            close(descriptor);
        }
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = PhysicalTable::handle_of(add_physical(std::move(physical), VRAMTRACE_SIM_PHYSICAL));
    return CUDA_SUCCESS;
}

SIM_API(cuMemRelease, (CUmemGenericAllocationHandle handle), (handle)) {
    Physical& physical = physical_of(handle);
    physical.references -= 1;
    drop_if_unused(physical);
    return CUDA_SUCCESS;
}

SIM_API(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * handle, void* addr), (handle, addr)) {
    require(handle != nullptr);
    const FoundMapping found = mapping_containing(reinterpret_cast<uint64_t>(addr));
    require(found.mapping != nullptr);
    found.mapping->physical->references += 1;
    *handle = PhysicalTable::handle_of(*found.mapping->physical);
    return CUDA_SUCCESS;
}

SIM_API(cuMemMap,
        (CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags),
        (ptr, size, offset, handle, flags)) {
    require(size != 0 && size % kPage == 0 && offset % kPage == 0 && ptr % kPage == 0 && flags == 0);
    Physical& physical = physical_of(handle);
    require(offset <= physical.bytes && size <= physical.bytes - offset);
    uint64_t base = 0;
    uint64_t bytes = 0;
    require(is_reserved(ptr, &base, &bytes) && size <= bytes - (ptr - base));
    const auto next = mappings().lower_bound(ptr);
    require(mapping_containing(ptr).mapping == nullptr && (next == mappings().end() || next->first >= ptr + size));
    require(map_view(physical, offset, size, ptr), CUDA_ERROR_OUT_OF_MEMORY);
    physical.mappings += 1;
    Book::Item item;
    item.kind = VRAMTRACE_SIM_MAPPING;
    item.device = physical.device->ordinal;
    item.address = ptr;
    item.extent_bytes = size;
    mappings()[ptr] = {size, offset, &physical, false, false, add_to_book(item), {}};
    return CUDA_SUCCESS;
}

SIM_API(cuMemUnmap, (CUdeviceptr ptr, size_t size), (ptr, size)) {
    for_each_mapping_in(ptr, size, [](std::map<uint64_t, Mapping>::iterator found) {
        const auto [address, mapping] = *found;
        unmap_view(address, mapping.bytes);
        remove_from_book(mapping.sequence);
        mappings().erase(found);
        mapping.physical->mappings -= 1;
        drop_if_unused(*mapping.physical);
    });
    return CUDA_SUCCESS;
}

SIM_API(cuMemSetAccess, (CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count),
        (ptr, size, desc, count)) {
    require(desc != nullptr && count != 0);
    for (size_t i = 0; i < count; ++i) {
        require(desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE ||
                desc[i].location.type == CU_MEM_LOCATION_TYPE_HOST);
        require(desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
                    Machine::get().device(desc[i].location.id) != nullptr,
                CUDA_ERROR_INVALID_DEVICE);
    }
    for_each_mapping_in(ptr, size, [&](std::map<uint64_t, Mapping>::iterator found) {
        for (size_t i = 0; i < count; ++i) {
            found->second.access[desc[i].location.id] = desc[i].flags;
        }
        set_protection(found->first, found->second);
    });
    return CUDA_SUCCESS;
}

SIM_API(cuMemGetAccess, (unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr),
        (flags, location, ptr)) {
    require(flags != nullptr && location != nullptr);
    const FoundMapping found = mapping_containing(ptr);
    require(found.mapping != nullptr);
    const auto access = found.mapping->access.find(location->id);
    *flags = access == found.mapping->access.end() ? 0 : access->second;
    return CUDA_SUCCESS;
}

SIM_API(cuMemGetAllocationPropertiesFromHandle, (CUmemAllocationProp * prop, CUmemGenericAllocationHandle handle),
        (prop, handle)) {
    require(prop != nullptr);
    *prop = physical_of(handle).properties;
    return CUDA_SUCCESS;
}

SIM_API(cuMemExportToShareableHandle,
        (void* shareableHandle, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType handleType,
         unsigned long long flags),
        (shareableHandle, handle, handleType, flags)) {
    require(shareableHandle != nullptr && flags == 0);
    const Physical& physical = physical_of(handle);
    require(handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && physical.descriptor >= 0);
    const int copy = fcntl(physical.descriptor, F_DUPFD_CLOEXEC, 0);
    require(copy >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    *static_cast<int*>(shareableHandle) = copy;
    return CUDA_SUCCESS;
}

// Of this process's own memory: the same handle, one more reference. Of another's: a handle that owns no bytes here.
SIM_API(cuMemImportFromShareableHandle,
        (CUmemGenericAllocationHandle * handle, void* osHandle, CUmemAllocationHandleType shHandleType),
        (handle, osHandle, shHandleType)) {
    require(handle != nullptr && shHandleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    const int given = static_cast<int>(reinterpret_cast<intptr_t>(osHandle));
    struct stat status {};
    require(fstat(given, &status) == 0 && status.st_size > 0 && status.st_size % static_cast<off_t>(kPage) == 0);
    Physical* known = nullptr;
    physicals().for_each([&](Physical& physical) {
        if (physical.descriptor >= 0 && physical.inode == status.st_ino) {
            known = &physical;
        }
    });
    if (known != nullptr) {
        known->references += 1;
        *handle = PhysicalTable::handle_of(*known);
        return CUDA_SUCCESS;
    }
    auto physical = std::make_unique<Physical>();
    physical->bytes = static_cast<uint64_t>(status.st_size);
    const Context* context = current_context_or_null();
    physical->device = context == nullptr ? &device_of(0) : context->device;
    physical->imported = true;
    physical->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    physical->properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, physical->device->ordinal};
    physical->properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const int copy = fcntl(given, F_DUPFD_CLOEXEC, 200);
    if (copy < 0 || !give_backing(*physical, copy)) {
        if (copy >= 0) {
            close(copy);
        }
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = PhysicalTable::handle_of(add_physical(std::move(physical), VRAMTRACE_SIM_PHYSICAL_IMPORTED));
    return CUDA_SUCCESS;
}
