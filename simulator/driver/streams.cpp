// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/streams.h"

#include <algorithm>

#include "simulator/driver/pools.h"

namespace vramtrace::simulator {
namespace {

uint64_t last_stream_id = 0;

const OnContextEnd end_all([](Context& context) {
    std::vector<Stream*> ending;
    streams().for_each([&](Stream& stream) {
        if (&stream.context->owner() == &context) {
            ending.push_back(&stream);
        }
    });
    for (Stream* stream : ending) {
        end_stream(*stream);
    }
    events().remove_if([&](Event& event) {
        if (&event.context->owner() != &context) {
            return false;
        }
        remove_from_book(event.sequence);
        return true;
    });
});

template <class Visit>
void for_each_stream(Context& context, Visit visit) {
    streams().for_each([&](Stream& stream) {
        if (&stream.context->owner() == &context) {
            visit(stream);
        }
    });
    if (context.legacy_stream) {
        visit(*context.legacy_stream);
    }
    for (const auto& [thread, stream] : context.per_thread_streams) {
        visit(*stream);
    }
}

}  // namespace

StreamTable& streams() {
    static auto* const table = new StreamTable;
    return *table;
}

EventTable& events() {
    static auto* const table = new EventTable;
    return *table;
}

Stream& stream_of(CUstream handle) {
    const bool is_default = handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
    if (!is_default) {
        Stream& stream = streams().get(handle);
        require(stream.context->owner().alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
        return stream;
    }
    Context& context = current_context().owner();
    if (handle == CU_STREAM_LEGACY || (handle == nullptr && !zero_is_per_thread())) {
        return *context.legacy_stream;
    }
    auto& stream = context.per_thread_streams[std::this_thread::get_id()];
    if (!stream) {
        stream = std::make_unique<Stream>();
        stream->context = &context;
        stream->id = ++last_stream_id;
    }
    return *stream;
}

Stream& make_stream(Context& context, unsigned int flags, int priority) {
    auto stream = std::make_unique<Stream>();
    stream->context = &context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = ++last_stream_id;
    Book::Item item;
    item.kind = VRAMTRACE_SIM_STREAM;
    item.device = context.device->ordinal;
    item.address = reinterpret_cast<uint64_t>(stream.get());
    item.context = &context.owner();
    stream->sequence = add_to_book(item);
    return streams().add(std::move(stream));
}

void end_stream(Stream& stream) {
    finish(stream);
    forget_in_captures(stream);
    events().for_each([&](Event& event) {
        if (event.stream == &stream) {
            event.stream = nullptr;
        }
    });
    remove_from_book(stream.sequence);
    streams().remove(stream);
}

void submit(Stream& stream) {
    stream.submitted += 1;
    stream.asked = false;
    if (!Machine::get().settings.finish_at_sync) {
        stream.finished = stream.submitted;
    }
}

void finish_until(Stream& stream, uint64_t ticket) {
    stream.finished = std::max(stream.finished, ticket);
    while (!stream.pending.empty() && stream.pending.front().ticket <= stream.finished) {
        const PendingFree free = stream.pending.front();
        stream.pending.pop_front();
        give_back_to_pool(*free.pool, free.piece, free.bytes);
    }
    trim_pools_after_sync(*stream.context->device);
}

void finish(Stream& stream) {
    finish_until(stream, stream.submitted);
}

void finish_streams_of(Context& context) {
    for_each_stream(context.owner(), [](Stream& stream) { finish(stream); });
    trim_pools_after_sync(*context.device);
}

void for_each_stream_on(Device& device, const std::function<void(Stream&)>& visit) {
    for (Context* context : live_contexts_on(device)) {
        for_each_stream(*context, visit);
    }
}

void finish_streams_of(Device& device) {
    for_each_stream_on(device, [](Stream& stream) { finish(stream); });
}

bool is_finished(Stream& stream, uint64_t ticket) {
    if (stream.finished >= ticket) {
        return true;
    }
    if (!stream.asked) {
        stream.asked = true;
        return false;
    }
    finish_until(stream, ticket);
    return true;
}

Stream& work_on(CUstream handle) {
    Stream& stream = stream_of(handle);
    require(capturing(stream) == nullptr, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    submit(stream);
    return stream;
}

}  // namespace vramtrace::simulator
