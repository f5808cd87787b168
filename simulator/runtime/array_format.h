// SPDX-License-Identifier: Apache-2.0
// Channel descriptions of the runtime and array descriptors of the driver, each into the other.
#pragma once

#include "simulator/runtime/api_call.h"

namespace vramtrace::simulator::runtime {

inline CUarray driver_array(cudaArray_const_t array) {
    return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

/// Fills Format and NumChannels; false when the driver has no such format.
bool describe_channels(const cudaChannelFormatDesc& channels, CUDA_ARRAY3D_DESCRIPTOR* descriptor);

cudaChannelFormatDesc channels_of(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);

/// Bytes of one element: all its channels.
size_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);

}  // namespace vramtrace::simulator::runtime
