// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/copy_parameters.h"

#include "simulator/runtime/array_format.h"
#include "tests/support/catch.h"

using namespace vramtrace::simulator::runtime;

TEST_CASE("the direction decides where the driver looks") {
    int to = 0;
    int from = 0;
    CopySide target;
    target.pointer = &to;
    target.pitch = 64;
    target.rows = 3;
    CopySide source;
    source.pointer = &from;
    source.pitch = 32;
    source.rows = 3;
    const CUDA_MEMCPY3D up = describe_copy(target, source, 30, 3, 1, cudaMemcpyHostToDevice);
    CHECK(up.srcMemoryType == CU_MEMORYTYPE_HOST);
    CHECK(up.srcHost == &from);
    CHECK(up.dstMemoryType == CU_MEMORYTYPE_DEVICE);
    CHECK(up.dstDevice == reinterpret_cast<CUdeviceptr>(&to));
    CHECK(up.dstPitch == 64);
    CHECK(up.srcPitch == 32);
    CHECK(up.WidthInBytes == 30);
    const CUDA_MEMCPY3D unknown = describe_copy(target, source, 30, 3, 1, cudaMemcpyDefault);
    CHECK(unknown.srcMemoryType == CU_MEMORYTYPE_UNIFIED);
    CHECK(unknown.dstMemoryType == CU_MEMORYTYPE_UNIFIED);
}

TEST_CASE("channel descriptions and array formats are each other's inverse") {
    const cudaChannelFormatDesc good[] = {
        {8, 0, 0, 0, cudaChannelFormatKindUnsigned},   {16, 16, 0, 0, cudaChannelFormatKindSigned},
        {32, 32, 32, 32, cudaChannelFormatKindFloat},  {16, 0, 0, 0, cudaChannelFormatKindFloat},
        {32, 32, 0, 0, cudaChannelFormatKindUnsigned},
    };
    for (const cudaChannelFormatDesc& channels : good) {
        CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
        REQUIRE(describe_channels(channels, &descriptor));
        const cudaChannelFormatDesc back = channels_of(descriptor);
        CHECK(back.x == channels.x);
        CHECK(back.y == channels.y);
        CHECK(back.z == channels.z);
        CHECK(back.w == channels.w);
        CHECK(back.f == channels.f);
        const int bits = channels.x + channels.y + channels.z + channels.w;
        CHECK(element_bytes(descriptor) == static_cast<size_t>(bits) / 8);
    }
    const cudaChannelFormatDesc bad[] = {
        {0, 0, 0, 0, cudaChannelFormatKindUnsigned}, {32, 32, 32, 0, cudaChannelFormatKindFloat},
        {8, 16, 0, 0, cudaChannelFormatKindSigned},  {8, 0, 0, 0, cudaChannelFormatKindFloat},
        {24, 0, 0, 0, cudaChannelFormatKindSigned},
    };
    for (const cudaChannelFormatDesc& channels : bad) {
        CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
        CHECK_FALSE(describe_channels(channels, &descriptor));
    }
}
