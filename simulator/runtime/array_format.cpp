// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/array_format.h"

namespace vramtrace::simulator::runtime {
namespace {

struct FormatRow {
    CUarray_format format;
    cudaChannelFormatKind kind;
    int bits;
};

const FormatRow kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, cudaChannelFormatKindUnsigned, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, cudaChannelFormatKindUnsigned, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, cudaChannelFormatKindUnsigned, 32},
    {CU_AD_FORMAT_SIGNED_INT8, cudaChannelFormatKindSigned, 8},
    {CU_AD_FORMAT_SIGNED_INT16, cudaChannelFormatKindSigned, 16},
    {CU_AD_FORMAT_SIGNED_INT32, cudaChannelFormatKindSigned, 32},
    {CU_AD_FORMAT_HALF, cudaChannelFormatKindFloat, 16},
    {CU_AD_FORMAT_FLOAT, cudaChannelFormatKindFloat, 32},
};

}  // namespace

bool describe_channels(const cudaChannelFormatDesc& channels, CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
    const int bits[] = {channels.x, channels.y, channels.z, channels.w};
    unsigned int count = 0;
    while (count < 4 && bits[count] != 0) {
        if (bits[count] != bits[0]) return false;
        ++count;
    }
    if (count != 1 && count != 2 && count != 4) return false;
    for (const FormatRow& row : kFormats) {
        if (row.kind == channels.f && row.bits == channels.x) {
            descriptor->Format = row.format;
            descriptor->NumChannels = count;
            return true;
        }
    }
    return false;
}

cudaChannelFormatDesc channels_of(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    for (const FormatRow& row : kFormats) {
        if (row.format == descriptor.Format) {
            const unsigned int count = descriptor.NumChannels;
            return {row.bits, count > 1 ? row.bits : 0, count > 2 ? row.bits : 0, count > 3 ? row.bits : 0, row.kind};
        }
    }
    return {0, 0, 0, 0, cudaChannelFormatKindNone};
}

size_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    return static_cast<size_t>(channels_of(descriptor).x) / 8 * descriptor.NumChannels;
}

}  // namespace vramtrace::simulator::runtime
