// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/copies.h"

#include <algorithm>
#include <cstring>

#include "simulator/driver/allocations.h"
#include "simulator/driver/arrays.h"

namespace vramtrace::simulator {
namespace {

// One side of a copy: bytes in rows and slices.
struct Side {
    char* base;
    uint64_t pitch;
    uint64_t slice;
};

char* pointer(uint64_t address) {
    return reinterpret_cast<char*>(address);
}

Side side_of(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array_handle, size_t pitch, size_t height,
             size_t x, size_t y, size_t z, const CUDA_MEMCPY3D& what) {
    if (type == CU_MEMORYTYPE_ARRAY) {
        const Array& array = arrays().get(array_handle);
        const auto& extent = array.descriptor;
        require(array.base != 0);
        require(x + what.WidthInBytes <= array.row_bytes() && y + what.Height <= std::max<size_t>(extent.Height, 1) &&
                z + what.Depth <= std::max<size_t>(extent.Depth, 1));
        const uint64_t slice = array.row_bytes() * std::max<size_t>(extent.Height, 1);
        return {pointer(array.base + z * slice + y * array.row_bytes() + x), array.row_bytes(), slice};
    }
    const uint64_t row = pitch != 0 ? pitch : x + what.WidthInBytes;
    const uint64_t slice = row * (height != 0 ? height : y + what.Height);
    const uint64_t start = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device;
    require(start != 0 && row >= what.WidthInBytes);
    const uint64_t first = start + z * slice + y * row + x;
    const uint64_t length = (what.Depth - 1) * slice + (what.Height - 1) * row + what.WidthInBytes;
    uint64_t reserved_base = 0;
    uint64_t reserved_bytes = 0;
    const bool ours = type == CU_MEMORYTYPE_DEVICE ||
                      (type == CU_MEMORYTYPE_UNIFIED && is_reserved(first, &reserved_base, &reserved_bytes));
    require(!ours || is_device_range(first, length));
    return {pointer(first), row, slice};
}

template <class Value>
void fill_rows(CUdeviceptr destination, size_t pitch, Value value, size_t width, size_t height) {
    for (size_t row = 0; row < height; ++row) {
        std::fill_n(reinterpret_cast<Value*>(destination + row * pitch), width, value);
    }
}

}  // namespace

void copy(const CUDA_MEMCPY3D& what) {
    if (what.WidthInBytes == 0 || what.Height == 0 || what.Depth == 0) {
        return;
    }
    const Side from = side_of(what.srcMemoryType, what.srcHost, what.srcDevice, what.srcArray, what.srcPitch,
                              what.srcHeight, what.srcXInBytes, what.srcY, what.srcZ, what);
    const Side to = side_of(what.dstMemoryType, what.dstHost, what.dstDevice, what.dstArray, what.dstPitch,
                            what.dstHeight, what.dstXInBytes, what.dstY, what.dstZ, what);
    for (size_t z = 0; z < what.Depth; ++z) {
        for (size_t y = 0; y < what.Height; ++y) {
            std::memmove(to.base + z * to.slice + y * to.pitch, from.base + z * from.slice + y * from.pitch,
                         what.WidthInBytes);
        }
    }
}

void fill(CUdeviceptr destination, size_t pitch, unsigned int value, unsigned int element_bytes, size_t width,
          size_t height) {
    if (width == 0 || height == 0) {
        return;
    }
    const uint64_t row = width * element_bytes;
    require((height == 1 || pitch >= row) && destination % element_bytes == 0);
    require(is_device_range(destination, (height - 1) * pitch + row));
    switch (element_bytes) {
        case 1:
            fill_rows(destination, pitch, static_cast<uint8_t>(value), width, height);
            break;
        case 2:
            fill_rows(destination, pitch, static_cast<uint16_t>(value), width, height);
            break;
        case 4:
            fill_rows(destination, pitch, static_cast<uint32_t>(value), width, height);
            break;
        default:
            refuse(CUDA_ERROR_INVALID_VALUE);
    }
}

}  // namespace vramtrace::simulator
