// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// WHAT IS COUNTED: kinds of things that can be live, and the quantity each is counted in. Two quantities are never added
// up: a managed byte may sit on either side of the bus, an address range is no memory, a borrowed byte is somebody else's.
namespace vramtrace::replay {

enum class Quantity : uint8_t {
    Device,          // bytes of device memory that the program asked for
    Managed,         // bytes that migrate between host and device; may exceed the device
    HostPinned,      // host bytes allocated page-locked
    HostRegistered,  // host bytes of the program's own, pinned by a registration
    AddressSpace,    // reserved addresses without memory
    Handle,          // a thing without bytes of ours: counted in pieces
    Block,           // bytes of a framework's blocks in device memory: they lie in bytes that are counted above
    HostBlock,       // the same in a framework's pool of pinned host memory
};
constexpr size_t kQuantities = 8;

enum class Kind : uint8_t {
    DeviceMemory,      // cuMemAlloc, cuMemAllocPitch
    ManagedMemory,     // cuMemAllocManaged
    HostMemory,        // cuMemHostAlloc
    RegisteredMemory,  // cuMemHostRegister
    PoolMemory,        // cuMemAllocAsync: stream-ordered
    GraphMemory,       // an allocation node, from its first launch until it is freed
    Physical,          // cuMemCreate on a device: bytes of the handle, mapped or not
    PhysicalHost,      // cuMemCreate on the host
    AddressRange,      // cuMemAddressReserve
    Array,             // cuArrayCreate
    Mipmap,            // cuMipmappedArrayCreate
    Module,            // cuModuleLoad: its static device variables, as far as known
    Block,             // what a framework handed out of its segments: a tensor's memory
    HostBlock,         // the same out of pinned host memory
    // Without bytes of ours from here on (Quantity::Handle).
    ImportedPhysical,  // cuMemImportFromShareableHandle
    ImportedPointer,   // cuMemPoolImportPointer
    IpcMemory,         // cuIpcOpenMemHandle
    ExternalMemory,    // cuImportExternalMemory
    ExternalBuffer,    // cuExternalMemoryGetMappedBuffer
    ExternalMipmap,    // cuExternalMemoryGetMappedMipmappedArray
    GraphicsResource,  // a registered graphics resource, seen when first mapped
    Multicast,         // cuMulticastCreate
    Pool,              // cuMemPoolCreate, cuMemPoolImportFromShareableHandle
    Graph,
    GraphExec,
    Context,         // cuCtxCreate
    PrimaryContext,  // cuDevicePrimaryCtxRetain; one a device, counted by references
    GreenContext,
    Library,
    Stream,
    Event,
};
constexpr size_t kKinds = static_cast<size_t>(Kind::Event) + 1;

constexpr Quantity quantity_of(Kind kind) {
    switch (kind) {
        case Kind::DeviceMemory:
        case Kind::PoolMemory:
        case Kind::GraphMemory:
        case Kind::Physical:
        case Kind::Array:
        case Kind::Mipmap:
        case Kind::Module:
            return Quantity::Device;
        case Kind::ManagedMemory:
            return Quantity::Managed;
        case Kind::HostMemory:
        case Kind::PhysicalHost:
            return Quantity::HostPinned;
        case Kind::RegisteredMemory:
            return Quantity::HostRegistered;
        case Kind::AddressRange:
            return Quantity::AddressSpace;
        case Kind::Block:
            return Quantity::Block;
        case Kind::HostBlock:
            return Quantity::HostBlock;
        default:
            return Quantity::Handle;
    }
}

// Host memory and addresses belong to the process, whichever device was current when they were asked for.
constexpr bool counted_per_device(Quantity quantity) {
    return quantity == Quantity::Device || quantity == Quantity::Managed || quantity == Quantity::Handle ||
           quantity == Quantity::Block;
}

// A layer of its own: blocks lie in driver allocations, which are counted themselves.
constexpr bool is_block(Kind kind) {
    return kind == Kind::Block || kind == Kind::HostBlock;
}
constexpr bool is_block(Quantity quantity) {
    return quantity == Quantity::Block || quantity == Quantity::HostBlock;
}

// "device memory", "array", …: one name for every view.
std::string_view kind_name(Kind kind);
// "device", "managed", "host-pinned", "host-registered", "address-space", "handle", "tensor", "host-tensor".
std::string_view quantity_name(Quantity quantity);

}  // namespace vramtrace::replay
