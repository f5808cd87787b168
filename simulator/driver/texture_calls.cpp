// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects: they describe memory and own none.
#include <map>

#include "simulator/driver/arrays.h"

using namespace vramtrace::simulator;

namespace {

struct Texture {
    CUDA_RESOURCE_DESC resource{};
    CUDA_TEXTURE_DESC texture{};
    CUDA_RESOURCE_VIEW_DESC view{};
    bool has_view = false;
};

std::map<unsigned long long, Texture>& textures() {
    static auto* const table = new std::map<unsigned long long, Texture>;
    return *table;
}

std::map<unsigned long long, CUDA_RESOURCE_DESC>& surfaces() {
    static auto* const table = new std::map<unsigned long long, CUDA_RESOURCE_DESC>;
    return *table;
}

unsigned long long next_object() {
    static unsigned long long last = 0;
    return ++last;
}

template <class Table>
auto& find(Table& table, unsigned long long object) {
    const auto found = table.find(object);
    require(found != table.end());
    return found->second;
}

}  // namespace

SIM_API(cuTexObjectCreate,
        (CUtexObject * pTexObject, const CUDA_RESOURCE_DESC* pResDesc, const CUDA_TEXTURE_DESC* pTexDesc,
         const CUDA_RESOURCE_VIEW_DESC* pResViewDesc),
        (pTexObject, pResDesc, pTexDesc, pResViewDesc)) {
    require(pTexObject != nullptr && pResDesc != nullptr && pTexDesc != nullptr);
    current_context();
    Texture texture{*pResDesc, *pTexDesc, {}, pResViewDesc != nullptr};
    if (pResViewDesc != nullptr) {
        texture.view = *pResViewDesc;
    }
    *pTexObject = next_object();
    textures()[*pTexObject] = texture;
    return CUDA_SUCCESS;
}

SIM_API(cuTexObjectDestroy, (CUtexObject texObject), (texObject)) {
    require(textures().erase(texObject) == 1);
    return CUDA_SUCCESS;
}

SIM_API(cuTexObjectGetResourceDesc, (CUDA_RESOURCE_DESC * pResDesc, CUtexObject texObject), (pResDesc, texObject)) {
    require(pResDesc != nullptr);
    *pResDesc = find(textures(), texObject).resource;
    return CUDA_SUCCESS;
}

SIM_API(cuTexObjectGetTextureDesc, (CUDA_TEXTURE_DESC * pTexDesc, CUtexObject texObject), (pTexDesc, texObject)) {
    require(pTexDesc != nullptr);
    *pTexDesc = find(textures(), texObject).texture;
    return CUDA_SUCCESS;
}

SIM_API(cuTexObjectGetResourceViewDesc, (CUDA_RESOURCE_VIEW_DESC * pResViewDesc, CUtexObject texObject),
        (pResViewDesc, texObject)) {
    require(pResViewDesc != nullptr);
    const Texture& texture = find(textures(), texObject);
    require(texture.has_view);
    *pResViewDesc = texture.view;
    return CUDA_SUCCESS;
}

SIM_API(cuSurfObjectCreate, (CUsurfObject * pSurfObject, const CUDA_RESOURCE_DESC* pResDesc), (pSurfObject, pResDesc)) {
    require(pSurfObject != nullptr && pResDesc != nullptr && pResDesc->resType == CU_RESOURCE_TYPE_ARRAY);
    current_context();
    *pSurfObject = next_object();
    surfaces()[*pSurfObject] = *pResDesc;
    return CUDA_SUCCESS;
}

SIM_API(cuSurfObjectDestroy, (CUsurfObject surfObject), (surfObject)) {
    require(surfaces().erase(surfObject) == 1);
    return CUDA_SUCCESS;
}

SIM_API(cuSurfObjectGetResourceDesc, (CUDA_RESOURCE_DESC * pResDesc, CUsurfObject surfObject), (pResDesc, surfObject)) {
    require(pResDesc != nullptr);
    *pResDesc = find(surfaces(), surfObject);
    return CUDA_SUCCESS;
}
