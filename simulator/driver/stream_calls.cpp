// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "simulator/driver/graphs.h"
#include "simulator/driver/streams.h"

using namespace vramtrace::simulator;

namespace {

constexpr unsigned int kStreamFlags = CU_STREAM_NON_BLOCKING;

CUresult create(CUstream* phStream, unsigned int flags, int priority) {
    require(phStream != nullptr && (flags & ~kStreamFlags) == 0);
    *phStream = StreamTable::handle_of(make_stream(current_context(), flags, priority));
    return CUDA_SUCCESS;
}

CUresult destroy(CUstream hStream) {
    Stream* stream = streams().find(hStream);
    require(stream != nullptr, hStream == nullptr || hStream == CU_STREAM_LEGACY || hStream == CU_STREAM_PER_THREAD
                                   ? CUDA_ERROR_INVALID_VALUE
                                   : CUDA_ERROR_INVALID_HANDLE);
    end_stream(*stream);
    return CUDA_SUCCESS;
}

// Memory operations on a 32- or 64-bit word in device memory; a wait is done at once, since all work before it is.
template <class Word>
CUresult write_value(CUstream stream, CUdeviceptr addr, Word value) {
    require(addr % sizeof(Word) == 0 && is_device_range(addr, sizeof(Word)));
    work_on(stream);
    std::memcpy(reinterpret_cast<void*>(addr), &value, sizeof value);
    return CUDA_SUCCESS;
}

template <class Word>
CUresult wait_value(CUstream stream, CUdeviceptr addr) {
    require(addr % sizeof(Word) == 0 && is_device_range(addr, sizeof(Word)));
    work_on(stream);
    return CUDA_SUCCESS;
}

CUresult memory_operations(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* parameters) {
    require(parameters != nullptr && count != 0 && count <= 256);
    for (unsigned int i = 0; i < count; ++i) {
        const CUstreamBatchMemOpParams& one = parameters[i];
        switch (one.operation) {
            case CU_STREAM_MEM_OP_WRITE_VALUE_32:
                write_value<cuuint32_t>(stream, one.writeValue.address, one.writeValue.value);
                break;
            case CU_STREAM_MEM_OP_WRITE_VALUE_64:
                write_value<cuuint64_t>(stream, one.writeValue.address, one.writeValue.value64);
                break;
            case CU_STREAM_MEM_OP_WAIT_VALUE_32:
                wait_value<cuuint32_t>(stream, one.waitValue.address);
                break;
            case CU_STREAM_MEM_OP_WAIT_VALUE_64:
                wait_value<cuuint64_t>(stream, one.waitValue.address);
                break;
            default:
                break;
        }
    }
    return CUDA_SUCCESS;
}

}  // namespace

SIM_API(cuStreamCreate, (CUstream * phStream, unsigned int Flags), (phStream, Flags)) {
    return create(phStream, Flags, 0);
}

SIM_API(cuStreamCreateWithPriority, (CUstream * phStream, unsigned int flags, int priority),
        (phStream, flags, priority)) {
    return create(phStream, flags, priority);
}

SIM_API(cuStreamDestroy, (CUstream hStream), (hStream)) {
    return destroy(hStream);
}

SIM_API(cuStreamDestroy_v2, (CUstream hStream), (hStream)) {
    return destroy(hStream);
}

SIM_STREAM_API(cuStreamSynchronize, _ptsz, (CUstream hStream), (hStream)) {
    Stream& stream = stream_of(hStream);
    if (capturing(stream) != nullptr) {
        invalidate(*stream.capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (&stream == stream.context->owner().legacy_stream.get()) {
        finish_streams_of(stream.context->owner());
    }
    finish(stream);
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamQuery, _ptsz, (CUstream hStream), (hStream)) {
    Stream& stream = stream_of(hStream);
    if (capturing(stream) != nullptr) {
        invalidate(*stream.capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return is_finished(stream, stream.submitted) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

SIM_STREAM_API(cuStreamWaitEvent, _ptsz, (CUstream hStream, CUevent hEvent, unsigned int Flags),
               (hStream, hEvent, Flags)) {
    require((Flags & ~static_cast<unsigned int>(CU_EVENT_WAIT_EXTERNAL)) == 0);
    Stream& stream = stream_of(hStream);
    Event& event = events().get(hEvent);
    if (event.capture != nullptr || capturing(stream) != nullptr) {
        wait_in_capture(stream, event);
    }
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamGetPriority, _ptsz, (CUstream hStream, int* priority), (hStream, priority)) {
    require(priority != nullptr);
    *priority = stream_of(hStream).priority;
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamGetFlags, _ptsz, (CUstream hStream, unsigned int* flags), (hStream, flags)) {
    require(flags != nullptr);
    *flags = stream_of(hStream).flags;
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamGetId, _ptsz, (CUstream hStream, unsigned long long* streamId), (hStream, streamId)) {
    require(streamId != nullptr);
    *streamId = stream_of(hStream).id;
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamGetDevice, _ptsz, (CUstream hStream, CUdevice* device), (hStream, device)) {
    require(device != nullptr);
    *device = stream_of(hStream).context->device->ordinal;
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamGetCtx, _ptsz, (CUstream hStream, CUcontext* pctx), (hStream, pctx)) {
    require(pctx != nullptr);
    *pctx = stream_of(hStream).context->handle();
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamGetCtx_v2, _ptsz, (CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx),
               (hStream, pCtx, pGreenCtx)) {
    require(pCtx != nullptr && pGreenCtx != nullptr);
    Context& context = *stream_of(hStream).context;
    const bool green = context.primary_of_green != nullptr;
    *pCtx = green ? nullptr : context.handle();
    *pGreenCtx = green ? reinterpret_cast<CUgreenCtx>(&context) : nullptr;
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamCopyAttributes, _ptsz, (CUstream dst, CUstream src), (dst, src)) {
    std::memcpy(stream_of(dst).attributes, stream_of(src).attributes, sizeof(Stream::attributes));
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamGetAttribute, _ptsz, (CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue* value_out),
               (hStream, attr, value_out)) {
    require(value_out != nullptr && attr > CU_LAUNCH_ATTRIBUTE_IGNORE && attr <= CU_LAUNCH_ATTRIBUTE_PRIORITY);
    Stream& stream = stream_of(hStream);
    *value_out = stream.attributes[attr];
    if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
        value_out->priority = stream.priority;
    }
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamSetAttribute, _ptsz, (CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue* value),
               (hStream, attr, value)) {
    require(value != nullptr && attr > CU_LAUNCH_ATTRIBUTE_IGNORE && attr <= CU_LAUNCH_ATTRIBUTE_PRIORITY);
    stream_of(hStream).attributes[attr] = *value;
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamAttachMemAsync, _ptsz, (CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags),
               (hStream, dptr, length, flags)) {
    work_on(hStream);
    const Allocation* allocation = allocation_containing(dptr);
    require(allocation != nullptr && allocation->kind == VRAMTRACE_SIM_MANAGED);
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamAddCallback, _ptsz,
               (CUstream hStream, CUstreamCallback callback, void* userData, unsigned int flags),
               (hStream, callback, userData, flags)) {
    require(callback != nullptr && flags == 0);
    work_on(hStream);
    Machine::get().after_unlock([=] { callback(hStream, CUDA_SUCCESS, userData); });
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuLaunchHostFunc, _ptsz, (CUstream hStream, CUhostFn fn, void* userData), (hStream, fn, userData)) {
    require(fn != nullptr);
    Stream& stream = stream_of(hStream);
    if (capturing(stream) != nullptr) {
        Node& node = capture_node(stream, CU_GRAPH_NODE_TYPE_HOST);
        node.host.fn = fn;
        node.host.userData = userData;
        return CUDA_SUCCESS;
    }
    submit(stream);
    Machine::get().after_unlock([=] { fn(userData); });
    return CUDA_SUCCESS;
}

#define VALUE_CALLS(name)                                                                                           \
    SIM_STREAM_API(cuStreamWriteValue32##name, _ptsz,                                                               \
                   (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),                       \
                   (stream, addr, value, flags)) {                                                                  \
        return write_value(stream, addr, value);                                                                    \
    }                                                                                                               \
    SIM_STREAM_API(cuStreamWriteValue64##name, _ptsz,                                                               \
                   (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),                       \
                   (stream, addr, value, flags)) {                                                                  \
        return write_value(stream, addr, value);                                                                    \
    }                                                                                                               \
    SIM_STREAM_API(cuStreamWaitValue32##name, _ptsz,                                                                \
                   (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),                       \
                   (stream, addr, value, flags)) {                                                                  \
        return wait_value<cuuint32_t>(stream, addr);                                                                \
    }                                                                                                               \
    SIM_STREAM_API(cuStreamWaitValue64##name, _ptsz,                                                                \
                   (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),                       \
                   (stream, addr, value, flags)) {                                                                  \
        return wait_value<cuuint64_t>(stream, addr);                                                                \
    }                                                                                                               \
    SIM_STREAM_API(cuStreamBatchMemOp##name, _ptsz,                                                                 \
                   (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* paramArray, unsigned int flags), \
                   (stream, count, paramArray, flags)) {                                                            \
        return memory_operations(stream, count, paramArray);                                                        \
    }
VALUE_CALLS()
VALUE_CALLS(_v2)
#undef VALUE_CALLS
