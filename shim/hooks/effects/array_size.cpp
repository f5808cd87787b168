// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/effects/array_size.h"

namespace vramtrace::shim {

namespace {

uint64_t at_least_one(uint64_t length) {
    return length == 0 ? 1 : length;
}

// Formats whose value says everything; the number of channels is only repeated in the descriptor.
unsigned bits_of_packed_format(unsigned format) {
    switch (format) {
        case 0xc0:
        case 0xc6:
            return 8;  // [US]NORM_INT8X1
        case 0xc1:
        case 0xc7:
            return 16;  // …X2
        case 0xc2:
        case 0xc8:
            return 32;  // …X4
        case 0xc3:
        case 0xc9:
            return 16;  // [US]NORM_INT16X1
        case 0xc4:
        case 0xca:
            return 32;  // …X2
        case 0xc5:
        case 0xcb:
            return 64;  // …X4
        case 0x50:
            return 32;  // UNORM_INT_101010_2
        case 0xb0:
            return 12;  // NV12: 8 bits of luma, a quarter of two chroma planes
        case 0x9f:
        case 0xa1:
            return 24;  // P010, P016: NV12 with 16 bits
        case 0xa2:
        case 0xa5:
            return 16;  // NV16, YUY2: half of two chroma values
        case 0xa3:
        case 0xa4:
            return 32;  // P210, P216
        case 0xa6:
        case 0xa7:
            return 32;  // Y210, Y216
        case 0xa8:
        case 0xa9:
            return 32;  // AYUV, Y410
        case 0xb1:
            return 64;  // Y416
        case 0xb2:
        case 0xb4:
            return 24;  // Y444 in planes, 8 bits
        case 0xb3:
        case 0xb5:
            return 48;  // Y444 in planes, 10 and 16 bits
        default:
            return 0;
    }
}

// Bytes of a block of 4 × 4 texels, 0 for formats without blocks.
unsigned bytes_of_block(unsigned format) {
    switch (format) {
        case 0x91:
        case 0x92:
        case 0x97:
        case 0x98:
            return 8;  // BC1, BC4
        case 0x93:
        case 0x94:
        case 0x95:
        case 0x96:
        case 0x99:
        case 0x9a:
        case 0x9b:
        case 0x9c:
        case 0x9d:
        case 0x9e:
            return 16;  // BC2, BC3, BC5, BC6H, BC7
        default:
            return 0;
    }
}

unsigned bits_of_channel(unsigned format) {
    switch (format) {
        case 0x01:
        case 0x08:
            return 8;  // [UN]SIGNED_INT8
        case 0x02:
        case 0x09:
        case 0x10:
            return 16;  // [UN]SIGNED_INT16, HALF
        case 0x03:
        case 0x0a:
        case 0x20:
            return 32;  // [UN]SIGNED_INT32, FLOAT
        default:
            return 0;
    }
}

}  // namespace

unsigned bits_of_element(unsigned format, unsigned channels) {
    if (const unsigned bits = bits_of_channel(format)) return bits * channels;
    if (const unsigned bytes = bytes_of_block(format)) return bytes * 8 / 16;
    return bits_of_packed_format(format);
}

uint64_t array_bytes(uint64_t width, uint64_t height, uint64_t depth, unsigned format, unsigned channels) {
    width = at_least_one(width);
    height = at_least_one(height);
    depth = at_least_one(depth);
    if (const unsigned bytes = bytes_of_block(format)) return (width + 3) / 4 * ((height + 3) / 4) * depth * bytes;
    return (width * height * depth * bits_of_element(format, channels) + 7) / 8;
}

uint64_t array_bytes(const ArrayDescriptor& d) {
    return array_bytes(d.width, d.height, 1, d.format, d.channels);
}

uint64_t array_bytes(const ArrayDescriptorV1& d) {
    return array_bytes(d.width, d.height, 1, d.format, d.channels);
}

uint64_t array_bytes(const Array3dDescriptor& d) {
    if ((d.flags & (kArraySparse | kArrayDeferredMapping)) != 0) return 0;
    return array_bytes(d.width, d.height, d.depth, d.format, d.channels);
}

uint64_t array_bytes(const Array3dDescriptorV1& d) {
    return array_bytes(d.width, d.height, d.depth, d.format, d.channels);
}

uint64_t mipmap_bytes(const Array3dDescriptor& d, unsigned levels) {
    if ((d.flags & (kArraySparse | kArrayDeferredMapping)) != 0) return 0;
    // Layers and faces are as many at every level; a real third dimension shrinks like the others.
    const bool depth_stays = (d.flags & (kArrayLayered | kArrayCubemap)) != 0;
    uint64_t bytes = 0;
    for (unsigned level = 0; level < levels && level < 64; ++level)
        bytes += array_bytes(d.width >> level, d.height >> level, depth_stays ? d.depth : d.depth >> level, d.format,
                             d.channels);
    return bytes;
}

}  // namespace vramtrace::shim
