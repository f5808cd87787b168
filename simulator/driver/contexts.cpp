// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/contexts.h"

#include <algorithm>
#include <unordered_set>

#include "simulator/driver/allocations.h"
#include "simulator/driver/sharing.h"
#include "simulator/driver/streams.h"

namespace vramtrace::simulator {
namespace {

constexpr int kMaxDepth = 64;

// Plain data: driver calls arrive while a thread's other thread-local objects are already destroyed.
struct ThreadContexts {
    Context* stack[kMaxDepth];
    int depth;
};
thread_local ThreadContexts here;

std::unordered_set<Context*>& all_contexts() {
    static auto* const contexts = new std::unordered_set<Context*>;
    return *contexts;
}

std::vector<ContextEnd>& end_listeners() {
    static auto* const listeners = new std::vector<ContextEnd>;
    return *listeners;
}

constexpr size_t kStackLimit = 1024;
constexpr size_t kFifoLimit = 1 << 20;
constexpr size_t kHeapLimit = 8 << 20;

std::array<size_t, CU_LIMIT_MAX> starting_limits() {
    std::array<size_t, CU_LIMIT_MAX> limits{};
    limits[CU_LIMIT_STACK_SIZE] = kStackLimit;
    limits[CU_LIMIT_PRINTF_FIFO_SIZE] = kFifoLimit;
    limits[CU_LIMIT_MALLOC_HEAP_SIZE] = kHeapLimit;
    limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    return limits;
}

}  // namespace

OnContextEnd::OnContextEnd(ContextEnd function) {
    end_listeners().push_back(function);
}

Context* current_context_or_null() {
    return here.depth == 0 ? nullptr : here.stack[here.depth - 1];
}

Context& current_context() {
    Context* context = current_context_or_null();
    require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    require(context->alive && context->owner().alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return *context;
}

Context* known_context(CUcontext handle) {
    auto* context = reinterpret_cast<Context*>(handle);
    return all_contexts().count(context) != 0 ? context : nullptr;
}

Context& context_of(CUcontext handle) {
    Context* context = known_context(handle);
    require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    require(context->alive && context->owner().alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return *context;
}

std::vector<Context*> live_contexts_on(Device& device) {
    std::vector<Context*> result;
    for (Context* context : all_contexts()) {
        if (context->alive && context->device == &device && context->primary_of_green == nullptr) {
            result.push_back(context);
        }
    }
    return result;
}

Device& device_of(CUdevice device) {
    Device* found = Machine::get().device(device);
    require(found != nullptr, CUDA_ERROR_INVALID_DEVICE);
    return *found;
}

void push_context(Context* context) {
    require(here.depth < kMaxDepth, CUDA_ERROR_OUT_OF_MEMORY);
    here.stack[here.depth++] = context;
}

Context* pop_context() {
    require(here.depth > 0, CUDA_ERROR_INVALID_CONTEXT);
    return here.stack[--here.depth];
}

void set_context(Context* context) {
    if (here.depth > 0) {
        --here.depth;
    }
    if (context != nullptr) {
        push_context(context);
    }
}

void forget_current(Context& context) {
    if (current_context_or_null() == &context) {
        --here.depth;
    }
}

Context& new_context(Device& device, bool primary) {
    auto* context = new Context;
    static uint64_t last_id = 0;
    context->device = &device;
    context->primary = primary;
    context->id = ++last_id;
    all_contexts().insert(context);
    return *context;
}

Context& primary_context(Device& device) {
    static auto* const primaries = new std::map<Device*, Context*>;
    Context*& context = (*primaries)[&device];
    if (context == nullptr) {
        context = &new_context(device, true);
    }
    return *context;
}

void activate(Context& context, unsigned int flags) {
    Device& device = *context.device;
    const uint64_t cost = round_up(Machine::get().settings.context_bytes, kPage);
    require(device.memory.take(cost, Use::kContexts), CUDA_ERROR_OUT_OF_MEMORY);
    context.overhead = cost;
    context.flags = flags;
    context.limits = starting_limits();
    context.heap = std::make_unique<PagedHeap>(device.arena, device.memory);
    context.heap->on_block_gone = forget_shared_block;
    context.legacy_stream = std::make_unique<Stream>();
    context.legacy_stream->context = &context;
    context.alive = true;
    Book::Item item;
    item.kind = VRAMTRACE_SIM_CONTEXT;
    item.device = device.ordinal;
    item.address = reinterpret_cast<uint64_t>(&context);
    item.physical_bytes = cost;
    item.context = &context;
    context.sequence = add_to_book(item);
}

void end_context(Context& context) {
    if (!context.alive) {
        return;
    }
    finish_streams_of(context);
    for (const auto& [thread, stream] : context.per_thread_streams) {
        forget_in_captures(*stream);
    }
    Book& book = Machine::get().book;
    book.owner_ends(true);
    for (const ContextEnd listener : end_listeners()) {
        listener(context);
    }
    book.owner_ends(false);
    context.alive = false;
    context.per_thread_streams.clear();
    context.legacy_stream.reset();
    context.heap.reset();
    context.peers.clear();
    context.device->memory.give_back(context.overhead, Use::kContexts);
    context.overhead = 0;
    context.heap_limit_bytes = 0;
    remove_from_book(context.sequence);
}

void set_limit(Context& context, CUlimit limit, size_t value) {
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE) {
        auto limits = context.limits;
        limits[limit] = value;
        const uint64_t raised = (std::max(limits[CU_LIMIT_MALLOC_HEAP_SIZE], kHeapLimit) - kHeapLimit) +
                                (std::max(limits[CU_LIMIT_PRINTF_FIFO_SIZE], kFifoLimit) - kFifoLimit);
        const uint64_t bytes = round_up(raised, kPage);
        PhysicalMemory& memory = context.device->memory;
        if (bytes > context.heap_limit_bytes) {
            require(memory.take(bytes - context.heap_limit_bytes, Use::kContexts), CUDA_ERROR_OUT_OF_MEMORY);
        } else {
            memory.give_back(context.heap_limit_bytes - bytes, Use::kContexts);
        }
        context.overhead += bytes - context.heap_limit_bytes;
        context.heap_limit_bytes = bytes;
    }
    context.limits[limit] = value;
}

}  // namespace vramtrace::simulator
