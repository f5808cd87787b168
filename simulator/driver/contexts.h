// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "simulator/driver/call.h"

namespace vramtrace::simulator {

struct Stream;

// A created, primary or green context. Objects are never deleted, so a stale handle is recognised for what it is.
struct Context {
    Device* device = nullptr;
    Context* primary_of_green = nullptr;  // green contexts use their device's primary context
    bool primary = false;
    bool alive = false;
    unsigned int flags = 0;
    int references = 0;
    uint64_t id = 0;
    uint64_t sequence = 0;          // in the ledger
    uint64_t overhead = 0;          // device bytes it costs itself
    uint64_t heap_limit_bytes = 0;  // part of overhead: limits raised above their start
    std::unique_ptr<PagedHeap> heap;
    std::array<size_t, CU_LIMIT_MAX> limits{};
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
    CUsharedconfig shared_config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    std::set<Context*> peers;
    std::unique_ptr<Stream> legacy_stream;
    std::map<std::thread::id, std::unique_ptr<Stream>> per_thread_streams;

    Context& owner() { return primary_of_green != nullptr ? *primary_of_green : *this; }
    CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
};

// The context on top of this thread's stack; refuses with INVALID_CONTEXT or CONTEXT_IS_DESTROYED.
Context& current_context();
Context* current_context_or_null();
Context& context_of(CUcontext handle);     // alive, else refuses
Context* known_context(CUcontext handle);  // also a dead one; nullptr if it never was one
Device& device_of(CUdevice device);        // refuses with INVALID_DEVICE
Context& primary_context(Device& device);  // active or not
std::vector<Context*> live_contexts_on(Device& device);
void forget_current(Context& context);

void push_context(Context* context);
Context* pop_context();
void set_context(Context* context);

Context& new_context(Device& device, bool primary);
void activate(Context& context, unsigned int flags);
void end_context(Context& context);
void set_limit(Context& context, CUlimit limit, size_t value);

// Told to every part of the driver that keeps things of a context, when it ends.
using ContextEnd = void (*)(Context&);
struct OnContextEnd {
    explicit OnContextEnd(ContextEnd function);
};

}  // namespace vramtrace::simulator
