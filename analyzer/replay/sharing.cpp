// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/sharing.h"

namespace vramtrace::replay {

void Sharing::open_ipc(const trace::Event& event) {
    // Opening the same memory twice gives the same address and wants two closings.
    Allocation* open = core_.live().find(Space::Memory, event.address);
    if (open != nullptr && open->kind == Kind::IpcMemory) {
        ++open->references;
        return;
    }
    Allocation made = core_.made_by(event, Kind::IpcMemory);
    made.address = event.address;
    made.bytes = event.size;
    made.object = event.aux;
    core_.allocate(made, event);
}

void Sharing::close_ipc(const trace::Event& event) {
    Allocation* open = core_.live().find(Space::Memory, event.address);
    if (open == nullptr) return core_.unmatched_release(event);
    if (open->references > 0) --open->references;
    core_.on_refusal([this, reference = Reference(open)] {
        if (Allocation* again = reference.get(core_.live())) ++again->references;
    });
    if (open->references == 0) core_.end(open, Ending::Freed, event);
}

void Sharing::import_external(const trace::Event& event) {
    Allocation made = core_.made_by(event, Kind::ExternalMemory);
    made.object = event.object;
    made.bytes = event.size;
    core_.allocate(made, event);
}

void Sharing::map_buffer(const trace::Event& event) {
    Allocation made = core_.made_by(event, Kind::ExternalBuffer);
    made.address = event.address;
    made.object = event.object;
    made.bytes = event.size;
    core_.allocate(made, event);
}

void Sharing::map_mipmap(const trace::Event& event) {
    Allocation made = core_.made_by(event, Kind::ExternalMipmap);
    made.object = event.object;
    made.bytes = event.size;
    core_.allocate(made, event);
}

void Sharing::map_graphics(const trace::Event& event) {
    Allocation* resource = core_.live().find(Space::Graphics, event.object);
    if (resource == nullptr) {
        Allocation made = core_.made_by(event, Kind::GraphicsResource);
        made.object = event.object;
        resource = core_.allocate(made, event);
    }
    resource->flags |= kMappedNow;
}

void Sharing::unmap_graphics(const trace::Event& event) {
    Allocation* resource = core_.live().find(Space::Graphics, event.object);
    if (resource == nullptr) return core_.unmatched_release(event);
    resource->flags = static_cast<uint8_t>(resource->flags & ~kMappedNow);
    core_.on_refusal([this, reference = Reference(resource)] {
        if (Allocation* again = reference.get(core_.live())) again->flags |= kMappedNow;
    });
}

}  // namespace vramtrace::replay
