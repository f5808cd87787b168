// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/effects/array_size.h"

#include "tests/support/catch.h"

using namespace vramtrace::shim;

namespace {
constexpr unsigned kUint8 = 0x01, kHalf = 0x10, kFloat = 0x20, kNv12 = 0xb0, kBc1 = 0x91, kBc7 = 0x9d, kY416 = 0xb1;

Array3dDescriptor descriptor(size_t width, size_t height, size_t depth, unsigned format, unsigned channels,
                             unsigned flags = 0) {
    return {width, height, depth, format, channels, flags};
}
}  // namespace

TEST_CASE("an array's bytes are the product of its lengths, channels and element") {
    CHECK(array_bytes(ArrayDescriptor{100, 50, kFloat, 4}) == 100 * 50 * 4 * 4);
    CHECK(array_bytes(ArrayDescriptorV1{100, 50, kHalf, 2}) == 100 * 50 * 2 * 2);
    CHECK(array_bytes(descriptor(7, 5, 3, kUint8, 1)) == 7 * 5 * 3);
    CHECK(array_bytes(Array3dDescriptorV1{7, 5, 3, kFloat, 1, 0}) == 7 * 5 * 3 * 4);
}

TEST_CASE("lengths of 0 mean that the dimension is not there") {
    CHECK(array_bytes(descriptor(1024, 0, 0, kFloat, 1)) == 4096);
    CHECK(array_bytes(descriptor(1024, 2, 0, kFloat, 1)) == 8192);
    CHECK(array_bytes(descriptor(1024, 0, 6, kFloat, 1, kArrayLayered)) == 6 * 4096);
}

TEST_CASE("cubemaps count their faces") {
    CHECK(array_bytes(descriptor(16, 16, 6, kFloat, 1, kArrayCubemap)) == 16 * 16 * 6 * 4);
    CHECK(array_bytes(descriptor(16, 16, 12, kFloat, 1, kArrayCubemap | kArrayLayered)) == 16 * 16 * 12 * 4);
}

TEST_CASE("memory that is bound later counts nothing yet") {
    CHECK(array_bytes(descriptor(1024, 1024, 0, kFloat, 4, kArraySparse)) == 0);
    CHECK(array_bytes(descriptor(1024, 1024, 0, kFloat, 4, kArrayDeferredMapping)) == 0);
    CHECK(mipmap_bytes(descriptor(1024, 1024, 0, kFloat, 4, kArraySparse), 5) == 0);
}

TEST_CASE("formats of several planes and of blocks") {
    CHECK(array_bytes(descriptor(64, 32, 0, kNv12, 3)) == 64 * 32 * 3 / 2);
    CHECK(array_bytes(descriptor(64, 32, 0, kY416, 4)) == 64 * 32 * 8);
    CHECK(array_bytes(descriptor(64, 32, 0, kBc1, 4)) == 64 * 32 / 16 * 8);
    CHECK(array_bytes(descriptor(64, 32, 0, kBc7, 4)) == 64 * 32 / 16 * 16);
    CHECK(array_bytes(descriptor(5, 5, 0, kBc1, 4)) == 4 * 8);  // broken blocks are whole ones
    CHECK(bits_of_element(0xc5, 4) == 64);
    CHECK(bits_of_element(0x7777, 4) == 0);
}

TEST_CASE("a mipmapped array is the sum of its levels") {
    CHECK(mipmap_bytes(descriptor(8, 8, 0, kFloat, 1), 4) == (64 + 16 + 4 + 1) * 4);
    CHECK(mipmap_bytes(descriptor(8, 8, 8, kFloat, 1), 4) == (512 + 64 + 8 + 1) * 4);
    CHECK(mipmap_bytes(descriptor(8, 8, 6, kFloat, 1, kArrayCubemap), 4) == (64 + 16 + 4 + 1) * 6 * 4);
    CHECK(mipmap_bytes(descriptor(8, 0, 3, kFloat, 1, kArrayLayered), 4) == (8 + 4 + 2 + 1) * 3 * 4);
    CHECK(mipmap_bytes(descriptor(8, 8, 0, kFloat, 1), 0) == 0);
}
