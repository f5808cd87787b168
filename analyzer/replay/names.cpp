// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/allocation.h"
#include "analyzer/replay/quantities.h"

namespace vramtrace::replay {

std::string_view kind_name(Kind kind) {
    switch (kind) {
        case Kind::DeviceMemory:
            return "device memory";
        case Kind::ManagedMemory:
            return "managed memory";
        case Kind::HostMemory:
            return "pinned host memory";
        case Kind::RegisteredMemory:
            return "registered host memory";
        case Kind::PoolMemory:
            return "pool memory";
        case Kind::GraphMemory:
            return "graph memory";
        case Kind::Physical:
            return "physical memory handle";
        case Kind::PhysicalHost:
            return "physical host memory handle";
        case Kind::AddressRange:
            return "address range";
        case Kind::Array:
            return "array";
        case Kind::Mipmap:
            return "mipmapped array";
        case Kind::Module:
            return "module";
        case Kind::Block:
            return "tensor block";
        case Kind::HostBlock:
            return "pinned host block";
        case Kind::ImportedPhysical:
            return "imported memory handle";
        case Kind::ImportedPointer:
            return "imported pool pointer";
        case Kind::IpcMemory:
            return "IPC memory";
        case Kind::ExternalMemory:
            return "external memory";
        case Kind::ExternalBuffer:
            return "external buffer";
        case Kind::ExternalMipmap:
            return "external mipmapped array";
        case Kind::GraphicsResource:
            return "graphics resource";
        case Kind::Multicast:
            return "multicast object";
        case Kind::Pool:
            return "memory pool";
        case Kind::Graph:
            return "graph";
        case Kind::GraphExec:
            return "executable graph";
        case Kind::Context:
            return "context";
        case Kind::PrimaryContext:
            return "primary context";
        case Kind::GreenContext:
            return "green context";
        case Kind::Library:
            return "library";
        case Kind::Stream:
            return "stream";
        case Kind::Event:
            return "event";
    }
    return "unknown kind";
}

std::string_view quantity_name(Quantity quantity) {
    switch (quantity) {
        case Quantity::Device:
            return "device";
        case Quantity::Managed:
            return "managed";
        case Quantity::HostPinned:
            return "host-pinned";
        case Quantity::HostRegistered:
            return "host-registered";
        case Quantity::AddressSpace:
            return "address-space";
        case Quantity::Handle:
            return "handle";
        case Quantity::Block:
            return "tensor";
        case Quantity::HostBlock:
            return "host-tensor";
    }
    return "unknown quantity";
}

std::string_view ending_name(Ending ending) {
    switch (ending) {
        case Ending::Freed:
            return "freed";
        case Ending::FreedByGraph:
            return "freed by a graph";
        case Ending::ContextEnded:
            return "ended with its context";
        case Ending::OwnerEnded:
            return "ended with its owner";
        case Ending::ContextLost:
            return "context lost";
        case Ending::LostFree:
            return "free not seen";
        case Ending::SegmentEnded:
            return "orphaned";
    }
    return "unknown ending";
}

}  // namespace vramtrace::replay
