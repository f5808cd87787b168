// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/contexts.h"

namespace vramtrace::replay {
namespace {

bool ends_with_context(Kind kind) {
    switch (kind) {
        case Kind::DeviceMemory:
        case Kind::ManagedMemory:
        case Kind::HostMemory:
        case Kind::RegisteredMemory:
        case Kind::Array:
        case Kind::Mipmap:
        case Kind::Module:
        case Kind::IpcMemory:
        case Kind::ExternalMemory:
        case Kind::ExternalBuffer:
        case Kind::ExternalMipmap:
        case Kind::GraphicsResource:
        case Kind::GraphExec:
        case Kind::Stream:
        case Kind::Event:
            return true;
        default:
            return false;
    }
}

}  // namespace

void Contexts::create(const trace::Event& event) {
    known_[event.context] = {event.object, event.device, true};
    const auto primary = primary_handles_.find(event.device);
    if (primary != primary_handles_.end() && primary->second == event.object) {
        known_[event.context].created = false;
        return;  // as after a reset: another index of the same handle
    }
    Allocation made = core_.made_by(event, Kind::Context);
    made.object = event.object;
    core_.allocate(made, event);
}

void Contexts::seen(const trace::Event& event) {
    const bool created = core_.live().find(Space::Context, event.object) != nullptr;
    known_[event.context] = {event.object, event.device, created};
}

void Contexts::destroy(const trace::Event& event) {
    any_ended_ = true;
    Allocation* handle = core_.live().find(Space::Context, event.object);
    bool known = handle != nullptr;
    for (const auto& [index, context] : known_) known = known || context.handle == event.object;
    if (!known) return core_.unmatched_release(event);
    end_all(
        [&](const Allocation& allocation) {
            const auto place = known_.find(allocation.context);
            return place != known_.end() && place->second.handle == event.object;
        },
        event);
    if (handle != nullptr) core_.end(handle, Ending::Freed, event);
}

void Contexts::retain_primary(const trace::Event& event) {
    reference_primary(event, event.object);
}

void Contexts::reference_primary(const trace::Event& event, uint64_t handle) {
    if (handle != 0) primary_handles_[event.device] = handle;
    if (Allocation* primary = core_.live().find(Space::Primary, event.device)) {
        ++primary->references;
        return;
    }
    // The primary context's index is told before it is known to be the primary one: it is not one of the program's own.
    if (Allocation* own = core_.live().find(Space::Context, handle); own != nullptr && handle != 0) {
        core_.end(own, Ending::OwnerEnded, event);
    }
    Allocation made = core_.made_by(event, Kind::PrimaryContext);
    made.object = handle;
    made.flags = kPrimary;
    core_.allocate(made, event);
}

void Contexts::release_primary(const trace::Event& event) {
    drop_primary(event.device, event);
}

void Contexts::drop_primary(uint8_t device, const trace::Event& event) {
    Allocation* primary = core_.live().find(Space::Primary, device);
    if (primary == nullptr) return core_.unmatched_release(event);
    if (primary->references > 0) --primary->references;
    core_.on_refusal([this, reference = Reference(primary)] {
        if (Allocation* again = reference.get(core_.live())) ++again->references;
    });
    if (primary->references > 0) return;
    end_primary(device, event);
    core_.end(primary, Ending::Freed, event);
}

// A reset ends what the context holds; its references stay and want their releases.
void Contexts::reset_primary(const trace::Event& event) {
    end_primary(event.device, event);
}

bool Contexts::is_primary(const Known& known, uint8_t device) const {
    if (known.device != device) return false;
    const auto primary = primary_handles_.find(device);
    return primary != primary_handles_.end() ? known.handle == primary->second : !known.created;
}

void Contexts::end_primary(uint8_t device, const trace::Event& event) {
    any_ended_ = true;
    end_all(
        [&](const Allocation& allocation) {
            // What was made while no context was known can only have been in the primary one of its device.
            if (allocation.context == trace::kNoContext) return allocation.device == device;
            const auto place = known_.find(allocation.context);
            return place != known_.end() ? is_primary(place->second, device) : allocation.device == device;
        },
        event);
}

template <typename Belongs>
void Contexts::end_all(Belongs&& belongs, const trace::Event& event) {
    for (Observer* observer : core_.observers()) observer->on_context_end(event);
    core_.live().for_each([&](Allocation& allocation) {
        if (ends_with_context(allocation.kind) && belongs(allocation))
            core_.end(&allocation, Ending::ContextEnded, event);
    });
}

void Contexts::create_green(const trace::Event& event) {
    Allocation made = core_.made_by(event, Kind::GreenContext);
    made.object = event.object;
    core_.allocate(made, event);
    reference_primary(event, 0);
}

void Contexts::destroy_green(const trace::Event& event) {
    Allocation* green = core_.live().find(Space::Green, event.object);
    if (green == nullptr) return core_.unmatched_release(event);
    const uint8_t device = green->device;
    core_.end(green, Ending::Freed, event);
    drop_primary(device, event);
}

bool Contexts::means_gone(uint16_t result) const {
    switch (result) {
        case 4:    // CUDA_ERROR_DEINITIALIZED: the driver shuts down
        case 709:  // CUDA_ERROR_CONTEXT_IS_DESTROYED
            return true;
        // After these the context can only be destroyed; all its memory goes with it.
        case 214:  // ECC_UNCORRECTABLE
        case 220:  // NVLINK_UNCORRECTABLE
        case 700:  // ILLEGAL_ADDRESS
        case 702:  // LAUNCH_TIMEOUT
        case 710:  // ASSERT
        case 714:  // HARDWARE_STACK_ERROR
        case 715:  // ILLEGAL_INSTRUCTION
        case 716:  // MISALIGNED_ADDRESS
        case 717:  // INVALID_ADDRESS_SPACE
        case 718:  // INVALID_PC
        case 719:  // LAUNCH_FAILED
            return true;
        case 201:  // INVALID_CONTEXT: no context, or one that is no more
            return any_ended_;
        default:
            return false;
    }
}

}  // namespace vramtrace::replay
