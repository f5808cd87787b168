// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/event_builder.h"
#include "tests/unit/analyzer/accounts/truth.h"

// A random program that knows the truth: it writes its events and keeps its own books as it goes, by brute force: every
// new peak copies every site. It never reads an event, so it shares no mistake with the replay.
namespace vramtrace::test {

using replay::Kind;
using replay::Quantity;

class RandomJob {
public:
    explicit RandomJob(uint64_t seed) : random_(seed) { job.object(EventBuilder::Kind::ContextCreate, kOwnContext); }

    void run(size_t events) {
        begin(Kind::Context, 0, 0, 0);  // the one of the constructor
        while (job.events().size() < events) step();
    }

    EventBuilder job;
    Truth truth;
    uint64_t unmatched = 0, lost = 0, refused = 0, context_lost = 0, failed = 0, recovered = 0;

private:
    using E = EventBuilder::Kind;
    struct Thing {
        Truth::Site site;
        uint64_t bytes = 0;
        uint64_t name = 0;
        bool own_context = false;
        uint32_t references = 1;
        std::vector<std::pair<uint64_t, uint64_t>> mapped;  // VMM: address, bytes
        bool named = true;
    };
    struct Simple {
        Kind kind;
        E make, end;
        bool by_address;
        bool in_context;
    };
    static constexpr uint64_t kOwnContext = 0xc0;

    uint64_t pick(uint64_t limit) { return random_() % limit; }
    uint64_t size() { return pick(4) == 0 ? 1 + pick(64 << 20) : 1 + pick(5000); }
    uint64_t fresh() { return next_name_ += 0x10000000; }

    // A thing of that kind begins with the event that was just written.
    Thing begin(Kind kind, uint64_t bytes, uint64_t name, uint64_t ticket) {
        const bool counted = replay::counted_per_device(replay::quantity_of(kind));
        Thing thing;
        thing.site = {stack_, kind, counted ? device_ : trace::kNoDevice};
        thing.bytes = bytes;
        thing.name = name;
        thing.own_context = context_ == 1;
        truth.begin(thing.site, bytes, ticket);
        return thing;
    }

    void place() {  // where the next call comes from
        stack_ = static_cast<uint32_t>(1 + pick(40));
        device_ = static_cast<uint8_t>(pick(2));
        context_ = device_ == 0 && pick(2) == 0 ? 1 : static_cast<uint16_t>(10 + device_);
        job.thread(static_cast<uint32_t>(1 + pick(6))).stack(stack_).device(device_).context(context_);
    }

    void step() {
        place();
        switch (pick(16)) {
            case 0:
            case 1:
            case 2:
            case 3:
            case 4:
                return make_simple();
            case 5:
            case 6:
            case 7:
            case 8:
                return end_simple();
            case 9:
            case 10:
                return virtual_memory();
            case 11:
                return graph();
            case 12:
                return refusal();
            case 13:
                return oddity();
            case 14:
                return failure();
            case 15:
                if (pick(200) == 0) end_context();
                return;
        }
    }

    static const Simple& simple(uint64_t i) {
        static const Simple all[] = {
            {Kind::DeviceMemory, E::DeviceAlloc, E::DeviceFree, true, true},
            {Kind::DeviceMemory, E::DeviceAlloc, E::PoolFree, true, true},
            {Kind::ManagedMemory, E::ManagedAlloc, E::DeviceFree, true, true},
            {Kind::HostMemory, E::HostAlloc, E::HostFree, true, true},
            {Kind::RegisteredMemory, E::HostRegister, E::HostUnregister, true, true},
            {Kind::PoolMemory, E::PoolAlloc, E::PoolFree, true, false},
            {Kind::AddressRange, E::AddressReserve, E::AddressFree, true, false},
            {Kind::Array, E::ArrayCreate, E::ArrayDestroy, false, true},
            {Kind::Mipmap, E::MipmapCreate, E::MipmapDestroy, false, true},
            {Kind::Module, E::ModuleLoad, E::ModuleUnload, false, true},
            {Kind::Stream, E::StreamCreate, E::StreamDestroy, false, true},
            {Kind::Event, E::EventCreate, E::EventDestroy, false, true},
            {Kind::IpcMemory, E::IpcOpen, E::IpcClose, true, true},
            {Kind::ImportedPhysical, E::PhysicalImport, E::PhysicalRelease, false, false},
        };
        return all[i % std::size(all)];
    }

    uint64_t emit(E kind, bool by_address, uint64_t name, uint64_t bytes = 0) {
        return by_address ? job.address(kind, name, bytes) : job.object(kind, name, bytes);
    }

    void make_simple() {
        const size_t which = pick(14);
        const Simple& kind = simple(which);
        const uint64_t name = fresh();
        const uint64_t bytes = kind.kind == Kind::Stream || kind.kind == Kind::Event ? 0 : size();
        const uint64_t ticket = emit(kind.make, kind.by_address, name, bytes);
        things_.emplace_back(which, begin(kind.kind, bytes, name, ticket));
    }
    size_t any() { return pick(things_.size()); }
    void forget(size_t at) {
        std::swap(things_[at], things_.back());
        things_.pop_back();
    }
    void end_simple() {
        if (things_.empty()) return;
        const size_t at = any();
        const auto& [which, thing] = things_[at];
        emit(simple(which).end, simple(which).by_address, thing.name);
        truth.end(thing.site, thing.bytes);
        forget(at);
    }

    void virtual_memory() {
        const auto drop_if_gone = [this](size_t at) {
            Thing& thing = handles_[at];
            if (thing.references > 0 || !thing.mapped.empty()) return;
            truth.end(thing.site, thing.bytes);
            std::swap(handles_[at], handles_.back());
            handles_.pop_back();
        };
        if (handles_.empty() || pick(4) == 0) {
            const uint64_t bytes = (1 + pick(8)) << 21;
            const uint64_t name = fresh();
            handles_.push_back(begin(Kind::Physical, bytes, name, job.physical_create(name, bytes)));
            return;
        }
        const size_t at = pick(handles_.size());
        Thing& thing = handles_[at];
        switch (pick(4)) {
            case 0:
                if (thing.references == 0) return;
                thing.mapped.emplace_back(fresh(), thing.bytes);
                job.map(thing.mapped.back().first, thing.bytes, thing.name);
                return;
            case 1: {
                if (thing.mapped.empty()) return;
                auto& [address, bytes] = thing.mapped.back();
                if (bytes > (1 << 21) && pick(3) == 0) {  // the front of it
                    job.unmap(address, 1 << 21);
                    address += 1 << 21;
                    bytes -= 1 << 21;
                    return;
                }
                job.unmap(address, bytes);
                thing.mapped.pop_back();
                return drop_if_gone(at);
            }
            case 2:
                if (thing.references == 0) return;
                ++thing.references;
                job.add(E::PhysicalRetain, {0, 0, thing.name, 0, 0});
                return;
            case 3:
                if (thing.references == 0) return;
                --thing.references;
                job.physical_release(thing.name);
                return drop_if_gone(at);
        }
    }

    void graph() {
        if (!graph_memory_.empty() && pick(2) == 0) {  // freed by hand, at last
            const size_t at = pick(graph_memory_.size());
            pick(2) == 0 ? job.pool_free(graph_memory_[at].name) : job.device_free(graph_memory_[at].name);
            truth.end(graph_memory_[at].site, graph_memory_[at].bytes);
            graph_memory_.erase(graph_memory_.begin() + static_cast<std::ptrdiff_t>(at));
            return;
        }
        // A graph of some nodes, some of them freed inside; launched twice, destroyed, and what is left stays.
        const uint64_t graph = fresh();
        const uint64_t exec = fresh();
        struct Node {
            uint32_t stack;
            uint64_t address, bytes;
            bool freed;
        };
        std::vector<Node> nodes;
        Thing handle;
        for (uint64_t i = 1 + pick(3); i > 0; --i) {
            stack_ = static_cast<uint32_t>(1 + pick(40));
            job.stack(stack_);
            nodes.push_back({stack_, fresh(), size(), pick(2) == 0});
            const uint64_t ticket = job.graph_alloc(nodes.back().address, nodes.back().bytes, graph, i);
            if (nodes.size() == 1) handle = begin(Kind::Graph, 0, graph, ticket);
            if (nodes.back().freed) job.graph_free(nodes.back().address, graph, 100 + i);
        }
        const Thing made = begin(Kind::GraphExec, 0, exec, job.instantiate(exec, graph, pick(2)));
        for (int launch = 0; launch < 2; ++launch) {
            const uint64_t ticket = job.launch(exec);
            for (const Node& node : nodes) {
                if (launch > 0 && !node.freed) continue;
                stack_ = node.stack;
                const Thing memory = begin(Kind::GraphMemory, node.bytes, node.address, ticket);
                node.freed ? truth.end(memory.site, memory.bytes) : graph_memory_.push_back(memory);
            }
        }
        job.object(E::GraphExecDestroy, exec);
        truth.end(made.site, 0);
        job.object(E::GraphDestroy, graph);
        truth.end(handle.site, 0);
    }

    void refusal() {
        if (things_.empty()) return;
        const size_t at = any();
        const size_t which = things_[at].first;
        const Thing thing = things_[at].second;
        const uint64_t ticket = emit(simple(which).end, simple(which).by_address, thing.name);
        truth.end(thing.site, thing.bytes);
        if (pick(4) == 0) {
            job.free_failed(ticket, 709);
            ++context_lost;
            return forget(at);
        }
        const uint64_t again = job.free_failed(ticket, 1);
        truth.begin(thing.site, thing.bytes, again, false);
        ++refused;
    }

    void oddity() {
        if (pick(2) == 0 || things_.empty()) {
            job.device_free(fresh());
            ++unmatched;
            return;
        }
        const size_t at = any();
        const auto [which, thing] = things_[at];
        if (simple(which).make == E::IpcOpen || simple(which).make == E::PhysicalImport)
            return;  // those count references
        const uint64_t bytes = size();
        const uint64_t ticket = emit(simple(which).make, simple(which).by_address, thing.name, bytes);
        truth.end(thing.site, thing.bytes);
        things_[at].second = begin(simple(which).kind, bytes, thing.name, ticket);
        ++lost;
    }

    void failure() {
        const uint64_t bytes = 1 + (++sizes_ << 27);  // no other request is of that size
        job.call_failed(E::DeviceAlloc, bytes);
        ++failed;
        if (pick(2) == 0) return;
        const uint64_t name = fresh();
        const uint64_t ticket = job.device_alloc(name, bytes);
        const Thing thing = begin(Kind::DeviceMemory, bytes, name, ticket);
        job.device_free(name);
        truth.end(thing.site, bytes);
        ++recovered;
    }

    void end_context() {
        job.context(0).device(0).object(E::ContextDestroy, kOwnContext);
        for (size_t at = things_.size(); at-- > 0;) {
            if (!things_[at].second.own_context || !simple(things_[at].first).in_context) continue;
            truth.end(things_[at].second.site, things_[at].second.bytes);
            forget(at);
        }
        truth.end(context_site_, 0);
        context_ = 1;
        device_ = 0;
        const uint64_t ticket = job.context(1).object(E::ContextCreate, kOwnContext);
        context_site_ = begin(Kind::Context, 0, 0, ticket).site;
    }

    std::mt19937_64 random_;
    uint32_t stack_ = 1;
    uint8_t device_ = 0;
    uint16_t context_ = 1;
    uint64_t next_name_ = 0x7f0000000000;
    uint64_t sizes_ = 0;
    Truth::Site context_site_{1, Kind::Context, 0};
    std::vector<std::pair<size_t, Thing>> things_;
    std::vector<Thing> handles_;
    std::vector<Thing> graph_memory_;
};

}  // namespace vramtrace::test
