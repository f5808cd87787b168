// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/replay.h"

#include <algorithm>
#include <vector>

namespace vramtrace::replay {

using trace::EventKind;

Replay::Replay() {
    attach(pools_);
}

void Replay::apply(const trace::Event& event) {
    if (any_ && event.sequence <= last_.sequence) ++core_.oddities().out_of_order;
    any_ = true;
    last_ = event;
    for (Observer* observer : core_.observers()) observer->on_event(event);
    if (is_release(event.kind)) {
        core_.begin_release(event);
        change(event);
        core_.end_release();
    } else {
        change(event);
    }
}

void Replay::change(const trace::Event& event) {
    switch (event.kind) {
        // device_memory, host_memory: an address is all there is to know.
        case EventKind::DeviceAlloc:
            return addressed(event, Kind::DeviceMemory);
        case EventKind::ManagedAlloc:
            return addressed(event, Kind::ManagedMemory);
        // Whatever one call ends by its name.
        case EventKind::DeviceFree:
        case EventKind::PoolFree:
        case EventKind::HostFree:
        case EventKind::HostUnregister:
        case EventKind::ArrayDestroy:
        case EventKind::MipmapDestroy:
        case EventKind::ExternalDestroy:
        case EventKind::ModuleUnload:
        case EventKind::LibraryUnload:
        case EventKind::StreamDestroy:
        case EventKind::EventDestroy:
            // Freeing nothing is allowed and common.
            if (const auto name = released_name(event)) core_.release(name->first, name->second, event);
            return;

        case EventKind::HostAlloc:
            return addressed(event, Kind::HostMemory);
        case EventKind::HostRegister:
            return addressed(event, Kind::RegisteredMemory);

        case EventKind::PoolCreate:
            return pools_.create(event);
        case EventKind::PoolDestroy:
            return pools_.destroy(event);
        case EventKind::PoolAlloc:
            return pools_.allocate(event);
        case EventKind::PoolSetAttribute:
            return pools_.set_attribute(event);
        case EventKind::DeviceSetPool:
            return pools_.set_current(event);
        case EventKind::PoolPointerImport:
            return pools_.import_pointer(event);
        case EventKind::PoolInfo:
            return pools_.sample(event);

        case EventKind::AddressReserve:
            return virtual_memory_.reserve(event);
        case EventKind::AddressFree:
            return virtual_memory_.free_addresses(event);
        case EventKind::PhysicalCreate:
            return virtual_memory_.create(event);
        case EventKind::PhysicalImport:
            return virtual_memory_.import(event);
        case EventKind::PhysicalRetain:
            return virtual_memory_.retain(event);
        case EventKind::PhysicalRelease:
            return virtual_memory_.release(event);
        case EventKind::Map:
            return virtual_memory_.map(event);
        case EventKind::Unmap:
            return virtual_memory_.unmap(event);
        case EventKind::MulticastCreate:
            return virtual_memory_.create_multicast(event);
        case EventKind::MulticastBind:
        case EventKind::MulticastUnbind:
            return virtual_memory_.bind(event);

        case EventKind::ArrayCreate:
            return named(event, Kind::Array);
        case EventKind::MipmapCreate:
            return named(event, Kind::Mipmap);

        case EventKind::IpcOpen:
            return sharing_.open_ipc(event);
        case EventKind::IpcClose:
            return sharing_.close_ipc(event);
        case EventKind::ExternalImport:
            return sharing_.import_external(event);
        case EventKind::ExternalBuffer:
            return sharing_.map_buffer(event);
        case EventKind::ExternalMipmap:
            return sharing_.map_mipmap(event);
        case EventKind::GraphicsMap:
            return sharing_.map_graphics(event);
        case EventKind::GraphicsUnmap:
            return sharing_.unmap_graphics(event);
        case EventKind::GraphicsUnregister:
            // Registered but never mapped: it was never seen, and that is no surprise.
            if (core_.live().find(Space::Graphics, event.object) != nullptr) {
                core_.release(Space::Graphics, event.object, event);
            }
            return;

        case EventKind::GraphAlloc:
            return graphs_.add_alloc(event);
        case EventKind::GraphFree:
            return graphs_.add_free(event);
        case EventKind::GraphInstantiate:
            return graphs_.instantiate(event);
        case EventKind::GraphLaunch:
            return graphs_.launch(event);
        case EventKind::GraphExecDestroy:
            return graphs_.destroy_exec(event);
        case EventKind::GraphDestroy:
            return graphs_.destroy(event);
        case EventKind::GraphNodeDestroy:
            return graphs_.destroy_node(event);
        case EventKind::GraphChild:
            return graphs_.add_child(event);
        case EventKind::CaptureBegin:
            return graphs_.begin_capture(event);
        case EventKind::CaptureEnd:
            return graphs_.end_capture(event);

        case EventKind::ContextCreate:
            return contexts_.create(event);
        case EventKind::ContextSeen:
            return contexts_.seen(event);
        case EventKind::ContextDestroy:
            return contexts_.destroy(event);
        case EventKind::PrimaryRetain:
            return contexts_.retain_primary(event);
        case EventKind::PrimaryRelease:
            return contexts_.release_primary(event);
        case EventKind::PrimaryReset:
            return contexts_.reset_primary(event);
        case EventKind::GreenCreate:
            return contexts_.create_green(event);
        case EventKind::GreenDestroy:
            return contexts_.destroy_green(event);

        case EventKind::ModuleLoad:
            return named(event, Kind::Module);
        case EventKind::LibraryLoad:
            return named(event, Kind::Library);
        case EventKind::StreamCreate:
            return named(event, Kind::Stream);
        case EventKind::EventCreate:
            return named(event, Kind::Event);

        case EventKind::CallFailed:
        case EventKind::RuntimeFailed:
            return failed(event);
        case EventKind::FreeFailed:
            return core_.refuse(event, contexts_.means_gone(event.result));

        // Views, hints, samples and notes: nothing begins or ends. Observers have seen them.
        case EventKind::None:
        case EventKind::PoolTrim:
        case EventKind::IpcExport:
        case EventKind::GraphicsPointer:
        case EventKind::GraphTrim:
        case EventKind::ContextLimit:
        case EventKind::ModuleGlobal:
        case EventKind::MemoryInfo:
        case EventKind::Unhooked:
        case EventKind::BlindSpot:
        case EventKind::RecordingStopped:
        case EventKind::RecordingStarted:
        case EventKind::BlockAlloc:
        case EventKind::BlockFree:
        case EventKind::FrameworkOutOfMemory:
        case EventKind::RangeBegin:
        case EventKind::RangeEnd:
        case EventKind::Mark:
            return;
    }
    ++core_.oddities().unknown_events;
}

void Replay::addressed(const trace::Event& event, Kind kind) {
    Allocation made = core_.made_by(event, kind);
    made.address = event.address;
    made.bytes = event.size;
    core_.allocate(made, event);
}

void Replay::named(const trace::Event& event, Kind kind) {
    Allocation made = core_.made_by(event, kind);
    made.object = event.object;
    made.bytes = event.size;
    core_.allocate(made, event);
}

void Replay::failed(const trace::Event& event) {
    const auto attempted =
        event.kind == EventKind::CallFailed ? static_cast<EventKind>(event.aux & 0xff) : EventKind::None;
    const Origin origin = core_.origin(event, kind_made_by(attempted), event.device);
    for (Observer* observer : core_.observers()) observer->on_failed(event, origin.site);
}

void Replay::finish() {
    // Plain and pool memory never overlaps: of two that do, the end of the older one was lost.
    std::vector<const Allocation*> memory;
    core_.live().for_each([&](Allocation& allocation) {
        if (space_of(allocation.kind) == Space::Memory && allocation.bytes > 0) memory.push_back(&allocation);
    });
    std::sort(memory.begin(), memory.end(),
              [](const Allocation* a, const Allocation* b) { return a->address < b->address; });
    std::vector<Allocation*> lost;
    const Allocation* furthest = nullptr;  // of those kept: the one that reaches furthest
    const auto reach = [](const Allocation& a) { return a.address + std::min(a.bytes, UINT64_MAX - a.address); };
    for (const Allocation* next : memory) {
        if (furthest != nullptr && next->address < reach(*furthest)) {
            const bool newer = next->id > furthest->id;
            lost.push_back(const_cast<Allocation*>(newer ? furthest : next));
            if (newer) furthest = next;
            continue;
        }
        furthest = next;
    }
    for (Allocation* allocation : lost) {
        ++core_.oddities().lost_frees;
        core_.end(allocation, Ending::LostFree, last_);
    }
}

}  // namespace vramtrace::replay
