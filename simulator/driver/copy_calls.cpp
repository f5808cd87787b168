// SPDX-License-Identifier: Apache-2.0
// Every copy and fill becomes one CUDA_MEMCPY3D or one fill, done at once or put into the graph that captures.
#include "simulator/driver/copies.h"
#include "simulator/driver/graphs.h"
#include "simulator/driver/streams.h"

using namespace vramtrace::simulator;

namespace {

// A copy of one row. A side of type UNIFIED is whatever its address is.
CUDA_MEMCPY3D line(CUmemorytype from_type, uint64_t from, CUmemorytype to_type, uint64_t to, size_t bytes) {
    CUDA_MEMCPY3D what{};
    what.srcMemoryType = from_type;
    what.srcHost = reinterpret_cast<const void*>(from);
    what.srcDevice = from;
    what.dstMemoryType = to_type;
    what.dstHost = reinterpret_cast<void*>(to);
    what.dstDevice = to;
    what.WidthInBytes = bytes;
    what.Height = 1;
    what.Depth = 1;
    return what;
}

uint64_t address(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}

CUDA_MEMCPY3D flat(const CUDA_MEMCPY2D* what) {
    require(what != nullptr);
    CUDA_MEMCPY3D out{};
    out.srcXInBytes = what->srcXInBytes;
    out.srcY = what->srcY;
    out.srcMemoryType = what->srcMemoryType;
    out.srcHost = what->srcHost;
    out.srcDevice = what->srcDevice;
    out.srcArray = what->srcArray;
    out.srcPitch = what->srcPitch;
    out.dstXInBytes = what->dstXInBytes;
    out.dstY = what->dstY;
    out.dstMemoryType = what->dstMemoryType;
    out.dstHost = what->dstHost;
    out.dstDevice = what->dstDevice;
    out.dstArray = what->dstArray;
    out.dstPitch = what->dstPitch;
    out.WidthInBytes = what->WidthInBytes;
    out.Height = what->Height;
    out.Depth = 1;
    return out;
}

CUDA_MEMCPY3D same_device(const CUDA_MEMCPY3D_PEER* what) {
    require(what != nullptr);
    CUDA_MEMCPY3D out{};
    out.srcXInBytes = what->srcXInBytes;
    out.srcY = what->srcY;
    out.srcZ = what->srcZ;
    out.srcMemoryType = what->srcMemoryType;
    out.srcHost = what->srcHost;
    out.srcDevice = what->srcDevice;
    out.srcArray = what->srcArray;
    out.srcPitch = what->srcPitch;
    out.srcHeight = what->srcHeight;
    out.dstXInBytes = what->dstXInBytes;
    out.dstY = what->dstY;
    out.dstZ = what->dstZ;
    out.dstMemoryType = what->dstMemoryType;
    out.dstHost = what->dstHost;
    out.dstDevice = what->dstDevice;
    out.dstArray = what->dstArray;
    out.dstPitch = what->dstPitch;
    out.dstHeight = what->dstHeight;
    out.WidthInBytes = what->WidthInBytes;
    out.Height = what->Height;
    out.Depth = what->Depth;
    return out;
}

const CUDA_MEMCPY3D& checked(const CUDA_MEMCPY3D* what) {
    require(what != nullptr);
    return *what;
}

// Synchronous: works on stream 0, which must not be drawn into a capture.
CUresult now(const CUDA_MEMCPY3D& what) {
    work_on(nullptr);
    copy(what);
    return CUDA_SUCCESS;
}

CUresult later(const CUDA_MEMCPY3D& what, CUstream handle) {
    Stream& stream = stream_of(handle);
    if (capturing(stream) != nullptr) {
        capture_node(stream, CU_GRAPH_NODE_TYPE_MEMCPY).copy = what;
        return CUDA_SUCCESS;
    }
    submit(stream);
    copy(what);
    return CUDA_SUCCESS;
}

CUresult fill_now(CUdeviceptr to, size_t pitch, unsigned int value, unsigned int element, size_t width, size_t height) {
    work_on(nullptr);
    fill(to, pitch, value, element, width, height);
    return CUDA_SUCCESS;
}

CUresult fill_later(CUdeviceptr to, size_t pitch, unsigned int value, unsigned int element, size_t width, size_t height,
                    CUstream handle) {
    Stream& stream = stream_of(handle);
    if (capturing(stream) != nullptr) {
        capture_node(stream, CU_GRAPH_NODE_TYPE_MEMSET).set = {to, pitch, value, element, width, height};
        return CUDA_SUCCESS;
    }
    submit(stream);
    fill(to, pitch, value, element, width, height);
    return CUDA_SUCCESS;
}

CUDA_MEMCPY3D array_line(CUarray from_array, size_t from_offset, CUarray to_array, size_t to_offset, size_t bytes) {
    CUDA_MEMCPY3D what{};
    what.srcArray = from_array;
    what.srcXInBytes = from_offset;
    what.dstArray = to_array;
    what.dstXInBytes = to_offset;
    what.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    what.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    what.WidthInBytes = bytes;
    what.Height = 1;
    what.Depth = 1;
    return what;
}

CUDA_MEMCPY3D to_array(CUmemorytype type, uint64_t from, CUarray array, size_t offset, size_t bytes) {
    CUDA_MEMCPY3D what = line(type, from, CU_MEMORYTYPE_ARRAY, 0, bytes);
    what.dstArray = array;
    what.dstXInBytes = offset;
    return what;
}

CUDA_MEMCPY3D from_array(CUarray array, size_t offset, CUmemorytype type, uint64_t to, size_t bytes) {
    CUDA_MEMCPY3D what = line(CU_MEMORYTYPE_ARRAY, 0, type, to, bytes);
    what.srcArray = array;
    what.srcXInBytes = offset;
    return what;
}

constexpr auto kHost = CU_MEMORYTYPE_HOST;
constexpr auto kDevice = CU_MEMORYTYPE_DEVICE;
constexpr auto kUnified = CU_MEMORYTYPE_UNIFIED;

CUresult batch(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count, CUstream handle) {
    require(dsts != nullptr && srcs != nullptr && sizes != nullptr && count != 0);
    for (size_t i = 0; i < count; ++i) {
        later(line(kUnified, srcs[i], kUnified, dsts[i], sizes[i]), handle);
    }
    return CUDA_SUCCESS;
}

}  // namespace

SIM_STREAM_API(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), (dst, src, ByteCount)) {
    return now(line(kUnified, src, kUnified, dst, ByteCount));
}

SIM_STREAM_API(cuMemcpyAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream),
               (dst, src, ByteCount, hStream)) {
    return later(line(kUnified, src, kUnified, dst, ByteCount), hStream);
}

SIM_STREAM_API(cuMemcpyPeer, _ptds,
               (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
                size_t ByteCount),
               (dstDevice, dstContext, srcDevice, srcContext, ByteCount)) {
    return now(line(kDevice, srcDevice, kDevice, dstDevice, ByteCount));
}

SIM_STREAM_API(cuMemcpyPeerAsync, _ptsz,
               (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
                size_t ByteCount, CUstream hStream),
               (dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream)) {
    return later(line(kDevice, srcDevice, kDevice, dstDevice, ByteCount), hStream);
}

SIM_STREAM_API(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount),
               (dstDevice, srcHost, ByteCount)) {
    return now(line(kHost, address(srcHost), kDevice, dstDevice, ByteCount));
}

SIM_STREAM_API(cuMemcpyDtoH_v2, _ptds, (void* dstHost, CUdeviceptr srcDevice, size_t ByteCount),
               (dstHost, srcDevice, ByteCount)) {
    return now(line(kDevice, srcDevice, kHost, address(dstHost), ByteCount));
}

SIM_STREAM_API(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
               (dstDevice, srcDevice, ByteCount)) {
    return now(line(kDevice, srcDevice, kDevice, dstDevice, ByteCount));
}

SIM_STREAM_API(cuMemcpyDtoA_v2, _ptds, (CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount),
               (dstArray, dstOffset, srcDevice, ByteCount)) {
    return now(to_array(kDevice, srcDevice, dstArray, dstOffset, ByteCount));
}

SIM_STREAM_API(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount),
               (dstDevice, srcArray, srcOffset, ByteCount)) {
    return now(from_array(srcArray, srcOffset, kDevice, dstDevice, ByteCount));
}

SIM_STREAM_API(cuMemcpyHtoA_v2, _ptds, (CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount),
               (dstArray, dstOffset, srcHost, ByteCount)) {
    return now(to_array(kHost, address(srcHost), dstArray, dstOffset, ByteCount));
}

SIM_STREAM_API(cuMemcpyAtoH_v2, _ptds, (void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount),
               (dstHost, srcArray, srcOffset, ByteCount)) {
    return now(from_array(srcArray, srcOffset, kHost, address(dstHost), ByteCount));
}

SIM_STREAM_API(cuMemcpyAtoA_v2, _ptds,
               (CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount),
               (dstArray, dstOffset, srcArray, srcOffset, ByteCount)) {
    return now(array_line(srcArray, srcOffset, dstArray, dstOffset, ByteCount));
}

SIM_STREAM_API(cuMemcpyHtoAAsync_v2, _ptsz,
               (CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount, CUstream hStream),
               (dstArray, dstOffset, srcHost, ByteCount, hStream)) {
    return later(to_array(kHost, address(srcHost), dstArray, dstOffset, ByteCount), hStream);
}

SIM_STREAM_API(cuMemcpyAtoHAsync_v2, _ptsz,
               (void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream),
               (dstHost, srcArray, srcOffset, ByteCount, hStream)) {
    return later(from_array(srcArray, srcOffset, kHost, address(dstHost), ByteCount), hStream);
}

SIM_STREAM_API(cuMemcpyHtoDAsync_v2, _ptsz,
               (CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream),
               (dstDevice, srcHost, ByteCount, hStream)) {
    return later(line(kHost, address(srcHost), kDevice, dstDevice, ByteCount), hStream);
}

SIM_STREAM_API(cuMemcpyDtoHAsync_v2, _ptsz, (void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
               (dstHost, srcDevice, ByteCount, hStream)) {
    return later(line(kDevice, srcDevice, kHost, address(dstHost), ByteCount), hStream);
}

SIM_STREAM_API(cuMemcpyDtoDAsync_v2, _ptsz,
               (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
               (dstDevice, srcDevice, ByteCount, hStream)) {
    return later(line(kDevice, srcDevice, kDevice, dstDevice, ByteCount), hStream);
}

SIM_STREAM_API(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* pCopy), (pCopy)) {
    return now(flat(pCopy));
}

SIM_STREAM_API(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* pCopy), (pCopy)) {
    return now(flat(pCopy));
}

SIM_STREAM_API(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* pCopy, CUstream hStream), (pCopy, hStream)) {
    return later(flat(pCopy), hStream);
}

SIM_STREAM_API(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* pCopy), (pCopy)) {
    return now(checked(pCopy));
}

SIM_STREAM_API(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* pCopy, CUstream hStream), (pCopy, hStream)) {
    return later(checked(pCopy), hStream);
}

SIM_STREAM_API(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* pCopy), (pCopy)) {
    return now(same_device(pCopy));
}

SIM_STREAM_API(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream), (pCopy, hStream)) {
    return later(same_device(pCopy), hStream);
}

SIM_STREAM_API(cuMemcpyBatchAsync, _ptsz,
               (CUdeviceptr * dsts, CUdeviceptr* srcs, size_t* sizes, size_t count, CUmemcpyAttributes* attrs,
                size_t* attrsIdxs, size_t numAttrs, size_t* failIdx, CUstream hStream),
               (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, hStream)) {
    return batch(dsts, srcs, sizes, count, hStream);
}

SIM_STREAM_API(cuMemcpyBatchAsync_v2, _ptsz,
               (CUdeviceptr * dsts, CUdeviceptr* srcs, size_t* sizes, size_t count, CUmemcpyAttributes* attrs,
                size_t* attrsIdxs, size_t numAttrs, CUstream hStream),
               (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream)) {
    return batch(dsts, srcs, sizes, count, hStream);
}

#define FILL_CALLS(bits, Value)                                                                                 \
    SIM_STREAM_API(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr dst, Value value, size_t N), (dst, value, N)) {    \
        return fill_now(dst, 0, value, bits / 8, N, 1);                                                         \
    }                                                                                                           \
    SIM_STREAM_API(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr dst, Value value, size_t N, CUstream hStream),   \
                   (dst, value, N, hStream)) {                                                                  \
        return fill_later(dst, 0, value, bits / 8, N, 1, hStream);                                              \
    }                                                                                                           \
    SIM_STREAM_API(cuMemsetD2D##bits##_v2, _ptds,                                                               \
                   (CUdeviceptr dst, size_t pitch, Value value, size_t Width, size_t Height),                   \
                   (dst, pitch, value, Width, Height)) {                                                        \
        return fill_now(dst, pitch, value, bits / 8, Width, Height);                                            \
    }                                                                                                           \
    SIM_STREAM_API(cuMemsetD2D##bits##Async, _ptsz,                                                             \
                   (CUdeviceptr dst, size_t pitch, Value value, size_t Width, size_t Height, CUstream hStream), \
                   (dst, pitch, value, Width, Height, hStream)) {                                               \
        return fill_later(dst, pitch, value, bits / 8, Width, Height, hStream);                                 \
    }
FILL_CALLS(8, unsigned char)
FILL_CALLS(16, unsigned short)
FILL_CALLS(32, unsigned int)
#undef FILL_CALLS
