// SPDX-License-Identifier: Apache-2.0
// Multicast objects: a team of devices and what each bound to it. They own no memory; what is bound lives on while it
// is bound.
#include "simulator/driver/allocations.h"
#include "simulator/driver/virtual_memory_map.h"

using namespace vramtrace::simulator;

namespace {

Physical& multicast_of(CUmemGenericAllocationHandle handle) {
    Physical& physical = physical_of(handle);
    require(physical.multicast);
    return physical;
}

CUresult bind(Physical& multicast, size_t offset, Physical& memory, size_t size) {
    require(size != 0 && size % kPage == 0 && offset % kPage == 0);
    require(offset <= multicast.bytes && size <= multicast.bytes - offset);
    require(!memory.multicast && multicast.team_devices.count(memory.device->ordinal) != 0);
    const uint64_t key = offset * 64 + static_cast<uint64_t>(memory.device->ordinal);
    require(multicast.bound.count(key) == 0);
    multicast.bound[key] = {&memory, size};
    memory.mappings += 1;
    return CUDA_SUCCESS;
}

}  // namespace

SIM_API(cuMulticastGetGranularity,
        (size_t * granularity, const CUmulticastObjectProp* prop, CUmulticastGranularity_flags option),
        (granularity, prop, option)) {
    require(granularity != nullptr && prop != nullptr);
    *granularity = kPage;
    return CUDA_SUCCESS;
}

SIM_API(cuMulticastCreate, (CUmemGenericAllocationHandle * mcHandle, const CUmulticastObjectProp* prop),
        (mcHandle, prop)) {
    require(mcHandle != nullptr && prop != nullptr && prop->numDevices != 0 && prop->size != 0);
    require(prop->size % kPage == 0 && prop->flags == 0);
    const Context* context = current_context_or_null();
    auto made = std::make_unique<Physical>();
    made->bytes = prop->size;
    made->device = context == nullptr ? &device_of(0) : context->device;
    made->multicast = true;
    made->team = *prop;
    made->references = 1;
    Book::Item item;
    item.kind = VRAMTRACE_SIM_MULTICAST;
    item.device = made->device->ordinal;
    item.address = reinterpret_cast<uint64_t>(made.get());
    item.extent_bytes = prop->size;
    made->sequence = add_to_book(item);
    *mcHandle = PhysicalTable::handle_of(physicals().add(std::move(made)));
    return CUDA_SUCCESS;
}

SIM_API(cuMulticastAddDevice, (CUmemGenericAllocationHandle mcHandle, CUdevice dev), (mcHandle, dev)) {
    Physical& multicast = multicast_of(mcHandle);
    require(multicast.team_devices.size() < multicast.team.numDevices);
    require(multicast.team_devices.insert(device_of(dev).ordinal).second);
    return CUDA_SUCCESS;
}

SIM_API(cuMulticastBindMem,
        (CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUmemGenericAllocationHandle memHandle,
         size_t memOffset, size_t size, unsigned long long flags),
        (mcHandle, mcOffset, memHandle, memOffset, size, flags)) {
    Physical& memory = physical_of(memHandle);
    require(flags == 0 && memOffset % kPage == 0 && memOffset <= memory.bytes && size <= memory.bytes - memOffset);
    return bind(multicast_of(mcHandle), mcOffset, memory, size);
}

SIM_API(cuMulticastBindAddr,
        (CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUdeviceptr memptr, size_t size,
         unsigned long long flags),
        (mcHandle, mcOffset, memptr, size, flags)) {
    const FoundMapping found = mapping_containing(memptr);
    require(flags == 0 && found.mapping != nullptr && size <= found.mapping->bytes - (memptr - found.base));
    return bind(multicast_of(mcHandle), mcOffset, *found.mapping->physical, size);
}

SIM_API(cuMulticastUnbind, (CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset, size_t size),
        (mcHandle, dev, mcOffset, size)) {
    Physical& multicast = multicast_of(mcHandle);
    const auto found = multicast.bound.find(mcOffset * 64 + static_cast<uint64_t>(device_of(dev).ordinal));
    require(found != multicast.bound.end() && found->second.second == size);
    Physical& memory = *found->second.first;
    multicast.bound.erase(found);
    memory.mappings -= 1;
    drop_if_unused(memory);
    return CUDA_SUCCESS;
}
