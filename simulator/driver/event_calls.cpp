// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstring>

#include "simulator/driver/graphs.h"
#include "simulator/driver/streams.h"

using namespace vramtrace::simulator;

namespace {

constexpr unsigned int kEventFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult record(CUevent hEvent, CUstream hStream, unsigned int flags) {
    require((flags & ~static_cast<unsigned int>(CU_EVENT_RECORD_EXTERNAL)) == 0);
    Event& event = events().get(hEvent);
    Stream& stream = stream_of(hStream);
    if (capturing(stream) != nullptr) {
        if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
            capture_node(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD).event = hEvent;
        } else {
            record_in_capture(stream, event);
        }
        return CUDA_SUCCESS;
    }
    require(&event.context->owner() == &stream.context->owner(), CUDA_ERROR_INVALID_HANDLE);
    record_event(event, stream);
    return CUDA_SUCCESS;
}

CUresult destroy(CUevent hEvent) {
    Event& event = events().get(hEvent);
    remove_from_book(event.sequence);
    events().remove(event);
    return CUDA_SUCCESS;
}

CUresult elapsed(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
    require(pMilliseconds != nullptr);
    const Event& start = events().get(hStart);
    const Event& end = events().get(hEnd);
    require(start.recorded && end.recorded, CUDA_ERROR_INVALID_HANDLE);
    require(((start.flags | end.flags) & CU_EVENT_DISABLE_TIMING) == 0, CUDA_ERROR_INVALID_HANDLE);
    *pMilliseconds = std::chrono::duration<float, std::milli>(end.time - start.time).count();
    return CUDA_SUCCESS;
}

void refuse_captured(const Event& event) {
    if (event.capture != nullptr) {
        invalidate(*event.capture);
        refuse(CUDA_ERROR_CAPTURED_EVENT);
    }
}

}  // namespace

SIM_API(cuEventCreate, (CUevent * phEvent, unsigned int Flags), (phEvent, Flags)) {
    require(phEvent != nullptr && (Flags & ~kEventFlags) == 0);
    require((Flags & CU_EVENT_INTERPROCESS) == 0 || (Flags & CU_EVENT_DISABLE_TIMING) != 0);
    Context& context = current_context();
    auto event = std::make_unique<Event>();
    event->context = &context;
    event->flags = Flags;
    Book::Item item;
    item.kind = VRAMTRACE_SIM_EVENT;
    item.device = context.device->ordinal;
    item.address = reinterpret_cast<uint64_t>(event.get());
    item.context = &context.owner();
    event->sequence = add_to_book(item);
    *phEvent = EventTable::handle_of(events().add(std::move(event)));
    return CUDA_SUCCESS;
}

SIM_API(cuEventDestroy, (CUevent hEvent), (hEvent)) {
    return destroy(hEvent);
}

SIM_API(cuEventDestroy_v2, (CUevent hEvent), (hEvent)) {
    return destroy(hEvent);
}

SIM_STREAM_API(cuEventRecord, _ptsz, (CUevent hEvent, CUstream hStream), (hEvent, hStream)) {
    return record(hEvent, hStream, 0);
}

SIM_STREAM_API(cuEventRecordWithFlags, _ptsz, (CUevent hEvent, CUstream hStream, unsigned int flags),
               (hEvent, hStream, flags)) {
    return record(hEvent, hStream, flags);
}

SIM_API(cuEventQuery, (CUevent hEvent), (hEvent)) {
    Event& event = events().get(hEvent);
    refuse_captured(event);
    const bool finished = event.stream == nullptr || is_finished(*event.stream, event.ticket);
    return finished ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

SIM_API(cuEventSynchronize, (CUevent hEvent), (hEvent)) {
    Event& event = events().get(hEvent);
    refuse_captured(event);
    if (event.stream != nullptr) {
        finish_until(*event.stream, event.ticket);
    }
    return CUDA_SUCCESS;
}

SIM_API(cuEventElapsedTime, (float* pMilliseconds, CUevent hStart, CUevent hEnd), (pMilliseconds, hStart, hEnd)) {
    return elapsed(pMilliseconds, hStart, hEnd);
}

SIM_API(cuEventElapsedTime_v2, (float* pMilliseconds, CUevent hStart, CUevent hEnd), (pMilliseconds, hStart, hEnd)) {
    return elapsed(pMilliseconds, hStart, hEnd);
}

// An event of another process would need a shared clock of work; the handle only carries the identity.
SIM_API(cuIpcGetEventHandle, (CUipcEventHandle * pHandle, CUevent event), (pHandle, event)) {
    require(pHandle != nullptr);
    const Event& found = events().get(event);
    require((found.flags & CU_EVENT_INTERPROCESS) != 0, CUDA_ERROR_INVALID_HANDLE);
    std::memset(pHandle, 0, sizeof *pHandle);
    std::memcpy(pHandle->reserved, &event, sizeof event);
    return CUDA_SUCCESS;
}

SIM_API(cuIpcOpenEventHandle, (CUevent * phEvent, CUipcEventHandle handle), (phEvent, handle)) {
    require(phEvent != nullptr);
    Context& context = current_context();
    auto event = std::make_unique<Event>();
    event->context = &context;
    event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    Book::Item item;
    item.kind = VRAMTRACE_SIM_EVENT;
    item.device = context.device->ordinal;
    item.address = reinterpret_cast<uint64_t>(event.get());
    item.context = &context.owner();
    event->sequence = add_to_book(item);
    *phEvent = EventTable::handle_of(events().add(std::move(event)));
    return CUDA_SUCCESS;
}
