// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/event_kinds.h"

namespace vramtrace::replay {

using trace::EventKind;

bool is_release(EventKind kind) {
    switch (kind) {
        case EventKind::DeviceFree:
        case EventKind::HostFree:
        case EventKind::HostUnregister:
        case EventKind::PoolDestroy:
        case EventKind::PoolTrim:
        case EventKind::PoolFree:
        case EventKind::AddressFree:
        case EventKind::PhysicalRelease:
        case EventKind::Unmap:
        case EventKind::MulticastUnbind:
        case EventKind::ArrayDestroy:
        case EventKind::MipmapDestroy:
        case EventKind::IpcClose:
        case EventKind::ExternalDestroy:
        case EventKind::GraphicsUnmap:
        case EventKind::GraphicsUnregister:
        case EventKind::GraphFree:  // a captured cuMemFreeAsync
        case EventKind::GraphExecDestroy:
        case EventKind::GraphDestroy:
        case EventKind::GraphNodeDestroy:
        case EventKind::GraphTrim:
        case EventKind::ContextDestroy:
        case EventKind::PrimaryRelease:
        case EventKind::PrimaryReset:
        case EventKind::GreenDestroy:
        case EventKind::ModuleUnload:
        case EventKind::LibraryUnload:
        case EventKind::StreamDestroy:
        case EventKind::EventDestroy:
            return true;
        default:
            return false;
    }
}

std::optional<std::pair<Space, uint64_t>> released_name(const trace::Event& event) {
    const auto at = [&event](Space space) -> std::optional<std::pair<Space, uint64_t>> {
        if (event.address == 0) return std::nullopt;
        return std::pair(space, event.address);
    };
    switch (event.kind) {
        case EventKind::DeviceFree:
        case EventKind::PoolFree:
        case EventKind::IpcClose:
            return at(Space::Memory);
        case EventKind::HostFree:
            return at(Space::Host);
        case EventKind::HostUnregister:
            return at(Space::Registered);
        case EventKind::AddressFree:
            return at(Space::Range);
        case EventKind::ArrayDestroy:
            return std::pair(Space::Array, event.object);
        case EventKind::MipmapDestroy:
            return std::pair(Space::Mipmap, event.object);
        case EventKind::ExternalDestroy:
            return std::pair(Space::External, event.object);
        case EventKind::GraphicsUnregister:
            return std::pair(Space::Graphics, event.object);
        case EventKind::ModuleUnload:
            return std::pair(Space::Module, event.object);
        case EventKind::LibraryUnload:
            return std::pair(Space::Library, event.object);
        case EventKind::StreamDestroy:
            return std::pair(Space::Stream, event.object);
        case EventKind::EventDestroy:
            return std::pair(Space::Event, event.object);
        case EventKind::BlockFree:
            return at(Space::Block);
        default:
            return std::nullopt;
    }
}

Kind kind_made_by(EventKind kind) {
    switch (kind) {
        case EventKind::ManagedAlloc:
            return Kind::ManagedMemory;
        case EventKind::HostAlloc:
            return Kind::HostMemory;
        case EventKind::HostRegister:
            return Kind::RegisteredMemory;
        case EventKind::PoolAlloc:
            return Kind::PoolMemory;
        case EventKind::PoolCreate:
            return Kind::Pool;
        case EventKind::PoolPointerImport:
            return Kind::ImportedPointer;
        case EventKind::AddressReserve:
            return Kind::AddressRange;
        case EventKind::PhysicalCreate:
        case EventKind::Map:
            return Kind::Physical;
        case EventKind::PhysicalImport:
        case EventKind::PhysicalRetain:
            return Kind::ImportedPhysical;
        case EventKind::MulticastCreate:
        case EventKind::MulticastBind:
            return Kind::Multicast;
        case EventKind::ArrayCreate:
            return Kind::Array;
        case EventKind::MipmapCreate:
            return Kind::Mipmap;
        case EventKind::IpcOpen:
            return Kind::IpcMemory;
        case EventKind::ExternalImport:
            return Kind::ExternalMemory;
        case EventKind::ExternalBuffer:
            return Kind::ExternalBuffer;
        case EventKind::ExternalMipmap:
            return Kind::ExternalMipmap;
        case EventKind::GraphicsMap:
            return Kind::GraphicsResource;
        case EventKind::GraphAlloc:
        case EventKind::GraphFree:
        case EventKind::GraphLaunch:
            return Kind::GraphMemory;
        case EventKind::GraphInstantiate:
            return Kind::GraphExec;
        case EventKind::ContextCreate:
            return Kind::Context;
        case EventKind::PrimaryRetain:
            return Kind::PrimaryContext;
        case EventKind::GreenCreate:
            return Kind::GreenContext;
        case EventKind::ModuleLoad:
            return Kind::Module;
        case EventKind::LibraryLoad:
            return Kind::Library;
        case EventKind::StreamCreate:
            return Kind::Stream;
        case EventKind::EventCreate:
            return Kind::Event;
        case EventKind::BlockAlloc:
        case EventKind::FrameworkOutOfMemory:
            return Kind::Block;
        default:
            return Kind::DeviceMemory;
    }
}

}  // namespace vramtrace::replay
