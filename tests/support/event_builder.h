// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trace/event.h"

// Writes events as the shim would: tickets 0, 1, 2, …, one microsecond apart, each call of a thread with its stack.
//
//   EventBuilder job;
//   job.thread(7).stack(100).device_alloc(0x1000, 64);
//   const uint64_t ticket = job.device_free(0x1000);
//   job.free_failed(ticket, 1);
namespace vramtrace::test {

class EventBuilder {
public:
    using Kind = trace::EventKind;

    // Hold for all events from now on.
    EventBuilder& thread(uint32_t value) { return next_.thread = value, *this; }
    EventBuilder& stack(uint32_t value) { return next_.stack = value, *this; }
    EventBuilder& device(uint8_t value) { return next_.device = value, *this; }
    EventBuilder& context(uint16_t value) { return next_.context = value, *this; }
    EventBuilder& api(uint8_t value) { return next_.api = value, *this; }
    EventBuilder& label(uint8_t value) { return next_.label = value, *this; }
    EventBuilder& wait(uint64_t nanoseconds) { return time_ += nanoseconds, *this; }
    EventBuilder& lose(uint64_t tickets) { return ticket_ += tickets, *this; }

    EventBuilder() {
        next_.device = 0;
        next_.context = 1;
        next_.thread = 1;
        next_.stack = 1;
    }

    struct Fields {
        uint64_t address = 0, size = 0, object = 0, aux = 0;
        uint16_t result = 0;
    };
    // Any event; answers its ticket.
    uint64_t add(Kind kind, const Fields& fields) {
        trace::Event event = next_;
        event.kind = kind;
        event.sequence = ticket_++;
        event.time = time_ += 1000;
        event.address = fields.address;
        event.size = fields.size;
        event.object = fields.object;
        event.aux = fields.aux;
        event.result = fields.result;
        events_.push_back(event);
        return event.sequence;
    }
    uint64_t object(Kind kind, uint64_t object, uint64_t size = 0, uint64_t aux = 0) {
        return add(kind, {0, size, object, aux, 0});
    }
    uint64_t address(Kind kind, uint64_t address, uint64_t size = 0) { return add(kind, {address, size, 0, 0, 0}); }

    uint64_t device_alloc(uint64_t at, uint64_t size) { return address(Kind::DeviceAlloc, at, size); }
    uint64_t device_free(uint64_t at) { return address(Kind::DeviceFree, at); }
    uint64_t managed_alloc(uint64_t at, uint64_t size) { return address(Kind::ManagedAlloc, at, size); }
    uint64_t host_alloc(uint64_t at, uint64_t size) { return address(Kind::HostAlloc, at, size); }
    uint64_t host_free(uint64_t at) { return address(Kind::HostFree, at); }
    uint64_t pool_alloc(uint64_t at, uint64_t size, uint64_t pool = 0, uint64_t stream = 0) {
        return add(Kind::PoolAlloc, {at, size, pool, stream, 0});
    }
    uint64_t pool_free(uint64_t at, uint64_t stream = 0) { return add(Kind::PoolFree, {at, 0, 0, stream, 0}); }
    uint64_t physical_create(uint64_t handle, uint64_t size) { return object(Kind::PhysicalCreate, handle, size); }
    uint64_t physical_release(uint64_t handle) { return object(Kind::PhysicalRelease, handle); }
    uint64_t map(uint64_t at, uint64_t size, uint64_t handle, uint64_t offset = 0) {
        return add(Kind::Map, {at, size, handle, offset, 0});
    }
    uint64_t unmap(uint64_t at, uint64_t size) { return address(Kind::Unmap, at, size); }
    uint64_t graph_alloc(uint64_t at, uint64_t size, uint64_t graph, uint64_t node = 0) {
        return add(Kind::GraphAlloc, {at, size, graph, node, 0});
    }
    uint64_t graph_free(uint64_t at, uint64_t graph, uint64_t node = 0) {
        return add(Kind::GraphFree, {at, 0, graph, node, 0});
    }
    uint64_t instantiate(uint64_t exec, uint64_t graph, uint64_t flags = 0) {
        return add(Kind::GraphInstantiate, {0, flags, exec, graph, 0});
    }
    uint64_t launch(uint64_t exec) { return object(Kind::GraphLaunch, exec); }
    uint64_t free_failed(uint64_t ticket, uint16_t result) { return add(Kind::FreeFailed, {0, ticket, 0, 0, result}); }
    uint64_t call_failed(Kind attempted, uint64_t size, uint16_t result = 2) {
        return add(Kind::CallFailed, {0, size, 0, static_cast<uint64_t>(attempted), result});
    }
    // As PyTorch tells them (the device named, its own sums) or TensorFlow (device kNoDevice, no sums).
    uint64_t block_alloc(uint64_t at, uint64_t size, uint64_t allocated = 0, uint64_t reserved = 0) {
        return add(Kind::BlockAlloc, {at, size, allocated, reserved, 0});
    }
    uint64_t block_free(uint64_t at, uint64_t size = 0, uint64_t allocated = 0, uint64_t reserved = 0) {
        return add(Kind::BlockFree, {at, size, allocated, reserved, 0});
    }
    uint64_t framework_out_of_memory(uint64_t size, uint64_t allocated = 0, uint64_t reserved = 0) {
        return add(Kind::FrameworkOutOfMemory, {0, size, allocated, reserved, 0});
    }
    uint64_t memory_info(uint64_t free_bytes, uint64_t total_bytes) {
        return add(Kind::MemoryInfo, {0, free_bytes, 0, total_bytes, 0});
    }

    const std::vector<trace::Event>& events() const { return events_; }
    uint64_t time() const { return time_; }

private:
    trace::Event next_;
    uint64_t ticket_ = 0;
    uint64_t time_ = 1'000'000;
    std::vector<trace::Event> events_;
};

}  // namespace vramtrace::test
