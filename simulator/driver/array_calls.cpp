// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "simulator/driver/arrays.h"
#include "simulator/driver/streams.h"

using namespace vramtrace::simulator;

namespace {

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
    out->tileExtent.height = static_cast<unsigned int>(256 / element_bytes(descriptor.Format, descriptor.NumChannels));
    out->tileExtent.depth = 1;
    out->miptailFirstLevel = 1;
    return CUDA_SUCCESS;
}

CUarray create(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    return ArrayTable::handle_of(make_array(descriptor));
}

}  // namespace

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

SIM_API(cuArrayGetDescriptor, (CUDA_ARRAY_DESCRIPTOR_v1 * out, CUarray hArray), (out, hArray)) {
    require(out != nullptr);
    const auto& from = arrays().get(hArray).descriptor;
    *out = {static_cast<unsigned int>(from.Width), static_cast<unsigned int>(from.Height), from.Format,
            from.NumChannels};
    return CUDA_SUCCESS;
}

SIM_API(cuArray3DGetDescriptor, (CUDA_ARRAY3D_DESCRIPTOR_v1 * out, CUarray hArray), (out, hArray)) {
    require(out != nullptr);
    const auto& from = arrays().get(hArray).descriptor;
    *out = {static_cast<unsigned int>(from.Width),
            static_cast<unsigned int>(from.Height),
            static_cast<unsigned int>(from.Depth),
            from.Format,
            from.NumChannels,
            from.Flags};
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
