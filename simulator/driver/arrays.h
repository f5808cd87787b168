// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "simulator/driver/allocations.h"
#include "simulator/driver/virtual_memory.h"

namespace vramtrace::simulator {

// A CUDA array: a handle, not an address. Stored row by row without padding. Levels of a mipmapped array and other
// views have no memory of their own.
struct Array {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    uint64_t base = 0;  // 0: sparse or deferred, memory is bound later
    bool is_view = false;
    Context* context = nullptr;
    PagedHeap::Piece piece{0, 0};
    uint64_t sequence = 0;
    std::map<std::vector<unsigned char>, Physical*> bound;  // by subresource

    uint64_t row_bytes() const;
    uint64_t bytes() const;
};

struct MipmappedArray {
    std::vector<Array*> levels;
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    Context* context = nullptr;
    PagedHeap::Piece piece{0, 0};
    uint64_t bytes = 0;
    uint64_t foreign_bytes = 0;  // of external memory: its mapping at piece.address
    uint64_t sequence = 0;
    std::map<std::vector<unsigned char>, Physical*> bound;
};

using ArrayTable = HandleTable<Array, CUarray>;
using MipmapTable = HandleTable<MipmappedArray, CUmipmappedArray>;
ArrayTable& arrays();
MipmapTable& mipmaps();

// Arrays that get their memory later, by cuMemMapArrayAsync.
constexpr unsigned int kNoMemoryOfItsOwn = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;

Array& make_array(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);
void end_array(Array& array);
void end_mipmap(MipmappedArray& mipmap);
uint64_t element_bytes(CUarray_format format, unsigned int channels);  // refuses unknown formats
MipmappedArray& make_mipmap(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned int levels, uint64_t foreign_address,
                            uint64_t foreign_bytes);
uint64_t mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned int levels);

}  // namespace vramtrace::simulator
