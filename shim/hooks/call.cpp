// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/call.h"

#include "shim/frameworks/tensorflow.h"
#include "shim/hooks/blind_spots.h"
#include "shim/hooks/call_scope.h"
#include "shim/hooks/samples.h"
#include "shim/hooks/trace_start.h"
#include "shim/hooks/unhooked.h"

namespace vramtrace::shim {

using trace::Event;
using trace::EventKind;

namespace {

// What this thread did last. Plain data: survives a longjmp out of the driver and needs no destructor. A fork's child
// inherits it, which is harmless: it only ever silences an event equal to the one just made.
struct HookThread {
    uint64_t serial;  // of the last event made
    uint64_t address, object;
    uint64_t release_address, release_object;
    uint32_t failures;
    EventKind kind;
    EventKind release;  // None: no release is under way
};
[[gnu::tls_model("initial-exec")]] thread_local constinit HookThread hook_thread{};

uint64_t write(Event& event, OpensRing opens, WithStack stack) {
    install_opened_callback();
    return record(event, opens, stack);
}

// What an outer call of the same function must not say again. Samples and ContextSeen in between do not count.
void remember(const Event& event) {
    ++hook_thread.serial;
    hook_thread.kind = event.kind;
    hook_thread.address = event.address;
    hook_thread.object = event.object;
}

constexpr char kUnreachedTensorflow[] =
    "TensorFlow hook inactive: the allocator of %s does not lead to vramtrace, so its blocks are not recorded, only "
    "the "
    "regions in which they lie";

// Memory that a framework may hand out in blocks has come: are its blocks seen?
void check_frameworks(EventKind kind) {
    if (kind != EventKind::DeviceAlloc && kind != EventKind::ManagedAlloc && kind != EventKind::HostAlloc &&
        kind != EventKind::PhysicalCreate)
        return;
    char path[400];
    if (unreached_tensorflow(path, sizeof path)) note_blind_spot(kUnreachedTensorflow, path);
}

}  // namespace

uint64_t record_plain(Event& event, OpensRing opens, WithStack stack) {
    return write(event, opens, stack);
}

void open_trace() {
    if (recording()) return;
    Event event;
    event.kind = EventKind::RecordingStarted;
    write(event, OpensRing::Yes, WithStack::No);
}

uint32_t failures_of_this_thread() {
    return hook_thread.failures;
}

Call::Call(Name api, const DriverCalls& driver) : driver_(driver), serial_(hook_thread.serial), api_(api) {}

Call::~Call() {
    if (recording()) report_unhooked();
    report_blind_spots();
}

const Place& Call::place() {
    if (place_known_) return place_;
    place_known_ = true;
    const OwnCalls own;
    place_ = current_place(driver_);
    if (place_.device != kPlaceWithoutDevice) know_device(driver_, place_.device);
    if (!place_.first_seen) return place_;
    Event event;
    event.kind = EventKind::ContextSeen;
    event.object = reinterpret_cast<uintptr_t>(place_.handle);
    event.device = place_.device;
    event.context = place_.context;
    event.api = static_cast<uint8_t>(api_);
    write(event, OpensRing::Yes, WithStack::Yes);
    return place_;
}

void Call::fill_place(Event& event) {
    event.api = static_cast<uint8_t>(api_);
    if (event.context != trace::kNoContext) return;
    const Place& here = place();
    event.context = here.context;
    if (event.device == trace::kNoDevice) event.device = here.device;
}

void Call::made(Event& event, OpensRing opens, WithStack stack) {
    if (opens == OpensRing::No && !recording()) return;
    const bool made_below = hook_thread.serial != serial_ && hook_thread.kind == event.kind &&
                            hook_thread.address == event.address && hook_thread.object == event.object;
    if (made_below) return;
    fill_place(event);
    write(event, opens, stack);
    remember(event);
    check_frameworks(event.kind);
}

void Call::failed(EventKind attempted, Result result, uint64_t size, uint64_t address, uint64_t object) {
    const bool failed_below = hook_thread.serial != serial_ && hook_thread.kind == EventKind::CallFailed &&
                              hook_thread.address == address && hook_thread.object == object;
    if (failed_below) return;
    Event event;
    event.kind = EventKind::CallFailed;
    event.aux = static_cast<uint64_t>(attempted);
    event.size = size;
    event.address = address;
    event.object = object;
    event.result = static_cast<uint16_t>(result);
    fill_place(event);
    write(event, OpensRing::Yes, WithStack::Yes);
    remember(event);
    ++hook_thread.failures;
    sample(SampleReason::Failure);
}

void Call::releasing(Event& event) {
    const bool released_above = hook_thread.release == event.kind && hook_thread.release_address == event.address &&
                                hook_thread.release_object == event.object;
    if (released_above) {
        // Said once only: were the outer call left by a longjmp, the next release must not be silenced too.
        hook_thread.release = EventKind::None;
        return;
    }
    event.api = static_cast<uint8_t>(api_);
    releasing_ = event.kind;
    address_ = event.address;
    object_ = event.object;
    ticket_ = write(event, OpensRing::No, WithStack::Yes);
    if (ticket_ == kNotRecorded) return;
    in_flight_ = in_flight_enter(ticket_);
    outermost_release_ = true;
    hook_thread.release = event.kind;
    hook_thread.release_address = event.address;
    hook_thread.release_object = event.object;
}

void Call::released(Result result) {
    if (outermost_release_) hook_thread.release = EventKind::None;
    if (in_flight_ >= 0) in_flight_leave(in_flight_);
    if (result == kSuccess || ticket_ == kNotRecorded) return;
    Event event;
    event.kind = EventKind::FreeFailed;
    event.size = ticket_;
    event.aux = static_cast<uint64_t>(releasing_);
    event.address = address_;
    event.object = object_;
    event.result = static_cast<uint16_t>(result);
    event.api = static_cast<uint8_t>(api_);
    write(event, OpensRing::No, WithStack::No);
}

void Call::sample_memory() {
    sample(SampleReason::Routine);
}

void Call::sample_after_code() {
    sample(SampleReason::Code);
}

void Call::sample(SampleReason reason) {
    if (!recording()) return;
    const OwnCalls own;
    const Place here = place_known_ ? place_ : known_current_place(driver_);
    shim::sample_memory(driver_, here, reason);
}

}  // namespace vramtrace::shim
