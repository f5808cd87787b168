// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/real/cuda_types.h"

// How many bytes an array holds, from its descriptor: width · height · depth · element, 0 lengths counting as 1. What the
// driver adds for tiling and alignment is not in it.
namespace vramtrace::shim {

constexpr unsigned kArrayLayered = 0x01;
constexpr unsigned kArrayCubemap = 0x04;
constexpr unsigned kArraySparse = 0x40;           // memory comes by cuMemMapArrayAsync
constexpr unsigned kArrayDeferredMapping = 0x80;  // likewise

// Bits of a texel over all channels and planes; block-compressed formats by their average. 0: a format we do not know.
unsigned bits_of_element(unsigned format, unsigned channels);

// Bytes of one level of these lengths.
uint64_t array_bytes(uint64_t width, uint64_t height, uint64_t depth, unsigned format, unsigned channels);

// Bytes of the whole: 0 for arrays whose memory is bound later.
uint64_t array_bytes(const ArrayDescriptor& descriptor);
uint64_t array_bytes(const ArrayDescriptorV1& descriptor);
uint64_t array_bytes(const Array3dDescriptor& descriptor);
uint64_t array_bytes(const Array3dDescriptorV1& descriptor);
uint64_t mipmap_bytes(const Array3dDescriptor& descriptor, unsigned levels);

}  // namespace vramtrace::shim
