// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/arrays.h"

#include <algorithm>
#include <cstring>

#include "simulator/driver/streams.h"

namespace vramtrace::simulator {
namespace {

constexpr unsigned int kNoMemoryOfItsOwn = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;

void drop_bindings(std::map<std::vector<unsigned char>, Physical*>& bound) {
    for (const auto& [subresource, physical] : bound) {
        physical->mappings -= 1;
        drop_if_unused(*physical);
    }
    bound.clear();
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
    return element * descriptor.Width * std::max<size_t>(descriptor.Height, 1) *
           std::max<size_t>(descriptor.Depth, 1);
}

void check(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    constexpr size_t kLargest = 1 << 28;
    require(descriptor.Width != 0 && (descriptor.Height != 0 || descriptor.Depth == 0 ||
                                      (descriptor.Flags & CUDA_ARRAY3D_LAYERED) != 0));
    require(descriptor.Width <= kLargest && descriptor.Height <= 131072 && descriptor.Depth <= 16384);
    element_bytes(descriptor.Format, descriptor.NumChannels);
}

PagedHeap::Piece take(Context& context, uint64_t bytes) {
    const auto piece = context.heap->allocate(bytes);
    require(piece.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
    return *piece;
}

CUarray create(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
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
    return ArrayTable::handle_of(arrays().add(std::move(array)));
}

CUDA_ARRAY3D_DESCRIPTOR flat(size_t width, size_t height, CUarray_format format, unsigned int channels) {
    return {width, height, 0, format, channels, 0};
}

CUresult requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out, unsigned int flags, uint64_t bytes, CUdevice device) {
    require(out != nullptr);
    device_of(device);
    require((flags & CUDA_ARRAY3D_DEFERRED_MAPPING) != 0);
    std::memset(out, 0, sizeof *out);
    out->size = round_up(bytes, 64 << 10);
    out->alignment = 64 << 10;
    return CUDA_SUCCESS;
}

CUresult sparse_properties(CUDA_ARRAY_SPARSE_PROPERTIES* out, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    require(out != nullptr && (descriptor.Flags & CUDA_ARRAY3D_SPARSE) != 0);
    std::memset(out, 0, sizeof *out);
    out->tileExtent.width = 256;
    out->tileExtent.height = static_cast<unsigned int>(
        256 / element_bytes(descriptor.Format, descriptor.NumChannels));
    out->tileExtent.depth = 1;
    out->miptailFirstLevel = 1;
    return CUDA_SUCCESS;
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
        case CU_AD_FORMAT_SIGNED_INT8: return channels;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF: return 2 * channels;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT: return 4 * channels;
        default: refuse(CUDA_ERROR_NOT_SUPPORTED);
    }
}

uint64_t mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned int levels) {
    uint64_t bytes = 0;
    for (unsigned int level = 0; level < levels; ++level) {
        bytes += bytes_of(level_descriptor(descriptor, level));
    }
    return bytes;
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

using namespace vramtrace::simulator;

SIM_API(cuArrayCreate_v2, (CUarray * pHandle, const CUDA_ARRAY_DESCRIPTOR* p), (pHandle, p)) {
    require(pHandle != nullptr && p != nullptr);
    *pHandle = create(flat(p->Width, p->Height, p->Format, p->NumChannels));
    return CUDA_SUCCESS;
}

SIM_API(cuArrayCreate, (CUarray * pHandle, const CUDA_ARRAY_DESCRIPTOR_v1* p), (pHandle, p)) {
    require(pHandle != nullptr && p != nullptr);
    *pHandle = create(flat(p->Width, p->Height, p->Format, p->NumChannels));
    return CUDA_SUCCESS;
}

SIM_API(cuArray3DCreate_v2, (CUarray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR* p), (pHandle, p)) {
    require(pHandle != nullptr && p != nullptr);
    *pHandle = create(*p);
    return CUDA_SUCCESS;
}

SIM_API(cuArray3DCreate, (CUarray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1* p), (pHandle, p)) {
    require(pHandle != nullptr && p != nullptr);
    *pHandle = create({p->Width, p->Height, p->Depth, p->Format, p->NumChannels, p->Flags});
    return CUDA_SUCCESS;
}

SIM_API(cuArrayGetDescriptor_v2, (CUDA_ARRAY_DESCRIPTOR * out, CUarray hArray), (out, hArray)) {
    require(out != nullptr);
    const auto& from = arrays().get(hArray).descriptor;
    *out = {from.Width, from.Height, from.Format, from.NumChannels};
    return CUDA_SUCCESS;
}

SIM_API(cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR * out, CUarray hArray), (out, hArray)) {
    require(out != nullptr);
    *out = arrays().get(hArray).descriptor;
    return CUDA_SUCCESS;
}

SIM_API(cuArrayDestroy, (CUarray hArray), (hArray)) {
    Array& array = arrays().get(hArray);
    require(!array.is_view, CUDA_ERROR_INVALID_HANDLE);
    end_array(array);
    return CUDA_SUCCESS;
}

// Planes exist in multi-planar formats only, which the simulator does not make.
SIM_API(cuArrayGetPlane, (CUarray * pPlaneArray, CUarray hArray, unsigned int planeIdx),
        (pPlaneArray, hArray, planeIdx)) {
    require(pPlaneArray != nullptr);
    arrays().get(hArray);
    return CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuMipmappedArrayCreate,
        (CUmipmappedArray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR* p, unsigned int numMipmapLevels),
        (pHandle, p, numMipmapLevels)) {
    require(pHandle != nullptr && p != nullptr);
    *pHandle = MipmapTable::handle_of(make_mipmap(*p, numMipmapLevels, 0, 0));
    return CUDA_SUCCESS;
}

SIM_API(cuMipmappedArrayGetLevel, (CUarray * pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level),
        (pLevelArray, hMipmappedArray, level)) {
    require(pLevelArray != nullptr);
    const auto& levels = mipmaps().get(hMipmappedArray).levels;
    require(level < levels.size());
    *pLevelArray = ArrayTable::handle_of(*levels[level]);
    return CUDA_SUCCESS;
}

SIM_API(cuMipmappedArrayDestroy, (CUmipmappedArray hMipmappedArray), (hMipmappedArray)) {
    end_mipmap(mipmaps().get(hMipmappedArray));
    return CUDA_SUCCESS;
}

SIM_API(cuArrayGetMemoryRequirements, (CUDA_ARRAY_MEMORY_REQUIREMENTS * out, CUarray array, CUdevice device),
        (out, array, device)) {
    const Array& found = arrays().get(array);
    return requirements(out, found.descriptor.Flags, found.bytes(), device);
}

SIM_API(cuMipmappedArrayGetMemoryRequirements,
        (CUDA_ARRAY_MEMORY_REQUIREMENTS * out, CUmipmappedArray mipmap, CUdevice device), (out, mipmap, device)) {
    const MipmappedArray& found = mipmaps().get(mipmap);
    return requirements(out, found.descriptor.Flags, found.bytes, device);
}

SIM_API(cuArrayGetSparseProperties, (CUDA_ARRAY_SPARSE_PROPERTIES * out, CUarray array), (out, array)) {
    return sparse_properties(out, arrays().get(array).descriptor);
}

SIM_API(cuMipmappedArrayGetSparseProperties, (CUDA_ARRAY_SPARSE_PROPERTIES * out, CUmipmappedArray mipmap),
        (out, mipmap)) {
    return sparse_properties(out, mipmaps().get(mipmap).descriptor);
}

SIM_STREAM_API(cuMemMapArrayAsync, _ptsz, (CUarrayMapInfo * mapInfoList, unsigned int count, CUstream hStream),
               (mapInfoList, count, hStream)) {
    require(mapInfoList != nullptr || count == 0);
    work_on(hStream);
    for (unsigned int i = 0; i < count; ++i) {
        const CUarrayMapInfo& info = mapInfoList[i];
        const bool is_array = info.resourceType == CU_RESOURCE_TYPE_ARRAY;
        require(is_array || info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
        const unsigned int flags = is_array ? arrays().get(info.resource.array).descriptor.Flags
                                            : mipmaps().get(info.resource.mipmap).descriptor.Flags;
        require((flags & kNoMemoryOfItsOwn) != 0 && info.memHandleType == CU_MEM_HANDLE_TYPE_GENERIC);
        auto& bound = is_array ? arrays().get(info.resource.array).bound : mipmaps().get(info.resource.mipmap).bound;
        std::vector<unsigned char> key(sizeof info.subresource + sizeof info.subresourceType);
        std::memcpy(key.data(), &info.subresource, sizeof info.subresource);
        std::memcpy(key.data() + sizeof info.subresource, &info.subresourceType, sizeof info.subresourceType);
        const auto old = bound.find(key);
        if (old != bound.end()) {
            old->second->mappings -= 1;
            drop_if_unused(*old->second);
            bound.erase(old);
        }
        if (info.memOperationType == CU_MEM_OPERATION_TYPE_MAP) {
            Physical& physical = physical_of(info.memHandle.memHandle);
            physical.mappings += 1;
            bound[key] = &physical;
        }
    }
    return CUDA_SUCCESS;
}
