// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/arrays.h"

#include <algorithm>

#include "simulator/driver/streams.h"

namespace vramtrace::simulator {
namespace {

void drop_bindings(std::map<std::vector<unsigned char>, Physical*>& bound) {
    for (const auto& [subresource, physical] : bound) {
        physical->mappings -= 1;
        drop_if_unused(*physical);
    }
    bound.clear();
}

const OnContextEnd end_all([](Context& context) {
    std::vector<MipmappedArray*> ending_mipmaps;
    mipmaps().for_each([&](MipmappedArray& mipmap) {
        if (mipmap.context == &context) {
            ending_mipmaps.push_back(&mipmap);
        }
    });
    for (MipmappedArray* mipmap : ending_mipmaps) {
        end_mipmap(*mipmap);
    }
    std::vector<Array*> ending;
    arrays().for_each([&](Array& array) {
        if (array.context == &context && !array.is_view) {
            ending.push_back(&array);
        }
    });
    for (Array* array : ending) {
        end_array(*array);
    }
});

CUDA_ARRAY3D_DESCRIPTOR level_descriptor(CUDA_ARRAY3D_DESCRIPTOR descriptor, unsigned int level) {
    const auto smaller = [level](size_t extent) { return extent == 0 ? 0 : std::max<size_t>(extent >> level, 1); };
    descriptor.Width = smaller(descriptor.Width);
    descriptor.Height = smaller(descriptor.Height);
    if ((descriptor.Flags & CUDA_ARRAY3D_LAYERED) == 0) {
        descriptor.Depth = smaller(descriptor.Depth);
    }
    return descriptor;
}

uint64_t bytes_of(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    const uint64_t element = element_bytes(descriptor.Format, descriptor.NumChannels);
    return element * descriptor.Width * std::max<size_t>(descriptor.Height, 1) * std::max<size_t>(descriptor.Depth, 1);
}

void check(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    constexpr size_t kLargest = 1 << 28;
    require(descriptor.Width != 0 &&
            (descriptor.Height != 0 || descriptor.Depth == 0 || (descriptor.Flags & CUDA_ARRAY3D_LAYERED) != 0));
    require(descriptor.Width <= kLargest && descriptor.Height <= 131072 && descriptor.Depth <= 16384);
    element_bytes(descriptor.Format, descriptor.NumChannels);
}

PagedHeap::Piece take(Context& context, uint64_t bytes) {
    const auto piece = context.heap->allocate(bytes);
    require(piece.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
    return *piece;
}

}  // namespace

uint64_t Array::row_bytes() const {
    return element_bytes(descriptor.Format, descriptor.NumChannels) * descriptor.Width;
}

uint64_t Array::bytes() const {
    return bytes_of(descriptor);
}

ArrayTable& arrays() {
    static auto* const table = new ArrayTable;
    return *table;
}

MipmapTable& mipmaps() {
    static auto* const table = new MipmapTable;
    return *table;
}

uint64_t element_bytes(CUarray_format format, unsigned int channels) {
    require(channels == 1 || channels == 2 || channels == 4);
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            return channels;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 2 * channels;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 4 * channels;
        default:
            refuse(CUDA_ERROR_NOT_SUPPORTED);
    }
}

uint64_t mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned int levels) {
    uint64_t bytes = 0;
    for (unsigned int level = 0; level < levels; ++level) {
        bytes += bytes_of(level_descriptor(descriptor, level));
    }
    return bytes;
}

Array& make_array(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    Context& context = current_context().owner();
    refuse_in_capture();
    check(descriptor);
    auto array = std::make_unique<Array>();
    array->descriptor = descriptor;
    array->context = &context;
    const bool own = (descriptor.Flags & kNoMemoryOfItsOwn) == 0;
    if (own) {
        array->piece = take(context, array->bytes());
        array->base = array->piece.address;
    }
    Book::Item item;
    item.kind = VRAMTRACE_SIM_ARRAY;
    item.device = context.device->ordinal;
    item.address = reinterpret_cast<uint64_t>(array.get());
    item.local_bytes = own ? array->bytes() : 0;
    item.extent_bytes = array->bytes();
    item.physical_bytes = array->piece.physical_bytes;
    item.context = &context;
    array->sequence = add_to_book(item);
    return arrays().add(std::move(array));
}

void end_array(Array& array) {
    drop_bindings(array.bound);
    if (array.piece.physical_bytes != 0) {
        array.context->heap->free(array.piece);
    }
    remove_from_book(array.sequence);
    arrays().remove(array);
}

void end_mipmap(MipmappedArray& mipmap) {
    drop_bindings(mipmap.bound);
    for (Array* level : mipmap.levels) {
        arrays().remove(*level);
    }
    if (mipmap.foreign_bytes != 0) {
        unmap(mipmap.piece.address, mipmap.foreign_bytes);
    } else if (mipmap.piece.physical_bytes != 0) {
        mipmap.context->heap->free(mipmap.piece);
    }
    remove_from_book(mipmap.sequence);
    mipmaps().remove(mipmap);
}

MipmappedArray& make_mipmap(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned int levels, uint64_t foreign_address,
                            uint64_t foreign_bytes) {
    Context& context = current_context().owner();
    refuse_in_capture();
    check(descriptor);
    const size_t longest = std::max({descriptor.Width, descriptor.Height, descriptor.Depth});
    require(levels >= 1 && levels <= 32);
    while (levels > 1 && (longest >> (levels - 1)) == 0) {
        --levels;  // the header promises to clamp
    }
    auto mipmap = std::make_unique<MipmappedArray>();
    mipmap->descriptor = descriptor;
    mipmap->context = &context;
    mipmap->bytes = mipmap_bytes(descriptor, levels);
    const bool foreign = foreign_bytes != 0;
    const bool own = !foreign && (descriptor.Flags & kNoMemoryOfItsOwn) == 0;
    if (own) {
        mipmap->piece = take(context, mipmap->bytes);
    } else {
        mipmap->piece = {foreign_address, 0};
        mipmap->foreign_bytes = foreign_bytes;
    }
    uint64_t next = mipmap->piece.address;
    for (unsigned int level = 0; level < levels; ++level) {
        auto array = std::make_unique<Array>();
        array->descriptor = level_descriptor(descriptor, level);
        array->base = next;
        array->is_view = true;
        array->context = &context;
        next += next == 0 ? 0 : array->bytes();
        mipmap->levels.push_back(&arrays().add(std::move(array)));
    }
    Book::Item item;
    item.kind = foreign ? VRAMTRACE_SIM_EXTERNAL_MIPMAP : VRAMTRACE_SIM_MIPMAPPED_ARRAY;
    item.device = context.device->ordinal;
    item.address = reinterpret_cast<uint64_t>(mipmap.get());
    item.local_bytes = own ? mipmap->bytes : 0;
    item.extent_bytes = mipmap->bytes;
    item.physical_bytes = mipmap->piece.physical_bytes;
    item.context = &context;
    mipmap->sequence = add_to_book(item);
    return mipmaps().add(std::move(mipmap));
}

}  // namespace vramtrace::simulator
