// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/event_text.h"

namespace vramtrace::cli {

std::string_view kind_text(trace::EventKind kind) {
    using Kind = trace::EventKind;
    switch (kind) {
        case Kind::None: return "None";
        case Kind::DeviceAlloc: return "DeviceAlloc";
        case Kind::ManagedAlloc: return "ManagedAlloc";
        case Kind::DeviceFree: return "DeviceFree";
        case Kind::HostAlloc: return "HostAlloc";
        case Kind::HostFree: return "HostFree";
        case Kind::HostRegister: return "HostRegister";
        case Kind::HostUnregister: return "HostUnregister";
        case Kind::PoolCreate: return "PoolCreate";
        case Kind::PoolDestroy: return "PoolDestroy";
        case Kind::PoolTrim: return "PoolTrim";
        case Kind::PoolAlloc: return "PoolAlloc";
        case Kind::PoolFree: return "PoolFree";
        case Kind::PoolSetAttribute: return "PoolSetAttribute";
        case Kind::DeviceSetPool: return "DeviceSetPool";
        case Kind::PoolPointerImport: return "PoolPointerImport";
        case Kind::PoolInfo: return "PoolInfo";
        case Kind::AddressReserve: return "AddressReserve";
        case Kind::AddressFree: return "AddressFree";
        case Kind::PhysicalCreate: return "PhysicalCreate";
        case Kind::PhysicalImport: return "PhysicalImport";
        case Kind::PhysicalRetain: return "PhysicalRetain";
        case Kind::PhysicalRelease: return "PhysicalRelease";
        case Kind::Map: return "Map";
        case Kind::Unmap: return "Unmap";
        case Kind::MulticastCreate: return "MulticastCreate";
        case Kind::MulticastBind: return "MulticastBind";
        case Kind::MulticastUnbind: return "MulticastUnbind";
        case Kind::ArrayCreate: return "ArrayCreate";
        case Kind::ArrayDestroy: return "ArrayDestroy";
        case Kind::MipmapCreate: return "MipmapCreate";
        case Kind::MipmapDestroy: return "MipmapDestroy";
        case Kind::IpcExport: return "IpcExport";
        case Kind::IpcOpen: return "IpcOpen";
        case Kind::IpcClose: return "IpcClose";
        case Kind::ExternalImport: return "ExternalImport";
        case Kind::ExternalDestroy: return "ExternalDestroy";
        case Kind::ExternalBuffer: return "ExternalBuffer";
        case Kind::ExternalMipmap: return "ExternalMipmap";
        case Kind::GraphicsMap: return "GraphicsMap";
        case Kind::GraphicsUnmap: return "GraphicsUnmap";
        case Kind::GraphicsPointer: return "GraphicsPointer";
        case Kind::GraphicsUnregister: return "GraphicsUnregister";
        case Kind::GraphAlloc: return "GraphAlloc";
        case Kind::GraphFree: return "GraphFree";
        case Kind::GraphInstantiate: return "GraphInstantiate";
        case Kind::GraphLaunch: return "GraphLaunch";
        case Kind::GraphExecDestroy: return "GraphExecDestroy";
        case Kind::GraphDestroy: return "GraphDestroy";
        case Kind::GraphNodeDestroy: return "GraphNodeDestroy";
        case Kind::GraphTrim: return "GraphTrim";
        case Kind::GraphChild: return "GraphChild";
        case Kind::CaptureBegin: return "CaptureBegin";
        case Kind::CaptureEnd: return "CaptureEnd";
        case Kind::ContextCreate: return "ContextCreate";
        case Kind::ContextSeen: return "ContextSeen";
        case Kind::ContextDestroy: return "ContextDestroy";
        case Kind::PrimaryRetain: return "PrimaryRetain";
        case Kind::PrimaryRelease: return "PrimaryRelease";
        case Kind::PrimaryReset: return "PrimaryReset";
        case Kind::GreenCreate: return "GreenCreate";
        case Kind::GreenDestroy: return "GreenDestroy";
        case Kind::ContextLimit: return "ContextLimit";
        case Kind::ModuleLoad: return "ModuleLoad";
        case Kind::ModuleUnload: return "ModuleUnload";
        case Kind::LibraryLoad: return "LibraryLoad";
        case Kind::LibraryUnload: return "LibraryUnload";
        case Kind::ModuleGlobal: return "ModuleGlobal";
        case Kind::StreamCreate: return "StreamCreate";
        case Kind::StreamDestroy: return "StreamDestroy";
        case Kind::EventCreate: return "EventCreate";
        case Kind::EventDestroy: return "EventDestroy";
        case Kind::CallFailed: return "CallFailed";
        case Kind::FreeFailed: return "FreeFailed";
        case Kind::RuntimeFailed: return "RuntimeFailed";
        case Kind::MemoryInfo: return "MemoryInfo";
        case Kind::Unhooked: return "Unhooked";
        case Kind::BlindSpot: return "BlindSpot";
        case Kind::RecordingStopped: return "RecordingStopped";
        case Kind::RecordingStarted: return "RecordingStarted";
    }
    return "?";
}

}  // namespace vramtrace::cli
