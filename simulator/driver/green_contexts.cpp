// SPDX-License-Identifier: Apache-2.0
// Green contexts: a share of the multiprocessors on the device's primary context, of which each holds a reference.
#include <algorithm>
#include <cstring>

#include "simulator/driver/streams.h"

using namespace vramtrace::simulator;

namespace {

constexpr unsigned int kMultiprocessors = 132;
constexpr unsigned int kSmallestGroup = 8;

CUdevResource all_multiprocessors() {
    CUdevResource resource;
    std::memset(&resource, 0, sizeof resource);
    resource.type = CU_DEV_RESOURCE_TYPE_SM;
    resource.sm.smCount = kMultiprocessors;
    return resource;
}

struct ResourceDescription {
    CUdevResource resource;
};

using DescriptionTable = HandleTable<ResourceDescription, CUdevResourceDesc>;

DescriptionTable& descriptions() {
    static auto* const table = new DescriptionTable;
    return *table;
}

Context& green_of(CUgreenCtx handle) {
    Context& context = context_of(reinterpret_cast<CUcontext>(handle));
    require(context.primary_of_green != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    return context;
}

CUresult answer(CUdevResource* resource, CUdevResourceType type) {
    require(resource != nullptr);
    require(type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    *resource = all_multiprocessors();
    return CUDA_SUCCESS;
}

}  // namespace

SIM_API(cuDeviceGetDevResource, (CUdevice device, CUdevResource* resource, CUdevResourceType type),
        (device, resource, type)) {
    device_of(device);
    return answer(resource, type);
}

SIM_API(cuCtxGetDevResource, (CUcontext hCtx, CUdevResource* resource, CUdevResourceType type),
        (hCtx, resource, type)) {
    context_of(hCtx);
    return answer(resource, type);
}

SIM_API(cuGreenCtxGetDevResource, (CUgreenCtx hCtx, CUdevResource* resource, CUdevResourceType type),
        (hCtx, resource, type)) {
    green_of(hCtx);
    return answer(resource, type);
}

SIM_API(cuDevSmResourceSplitByCount,
        (CUdevResource * result, unsigned int* nbGroups, const CUdevResource* input, CUdevResource* remaining,
         unsigned int useFlags, unsigned int minCount),
        (result, nbGroups, input, remaining, useFlags, minCount)) {
    require(nbGroups != nullptr && input != nullptr && input->type == CU_DEV_RESOURCE_TYPE_SM);
    const unsigned int size = (std::max(minCount, 1u) + kSmallestGroup - 1) / kSmallestGroup * kSmallestGroup;
    const unsigned int possible = input->sm.smCount / size;
    const unsigned int groups = result == nullptr ? possible : std::min(*nbGroups, possible);
    for (unsigned int i = 0; result != nullptr && i < groups; ++i) {
        result[i] = *input;
        result[i].sm.smCount = size;
    }
    if (remaining != nullptr) {
        *remaining = *input;
        remaining->sm.smCount = input->sm.smCount - groups * size;
    }
    *nbGroups = groups;
    return CUDA_SUCCESS;
}

SIM_API(cuDevResourceGenerateDesc, (CUdevResourceDesc * phDesc, CUdevResource* resources, unsigned int nbResources),
        (phDesc, resources, nbResources)) {
    require(phDesc != nullptr && resources != nullptr && nbResources != 0);
    require(resources->type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    auto description = std::make_unique<ResourceDescription>();
    description->resource = *resources;
    *phDesc = DescriptionTable::handle_of(descriptions().add(std::move(description)));
    return CUDA_SUCCESS;
}

SIM_API(cuGreenCtxCreate, (CUgreenCtx * phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags),
        (phCtx, desc, dev, flags)) {
    require(phCtx != nullptr && flags == CU_GREEN_CTX_DEFAULT_STREAM);
    descriptions().get(desc, CUDA_ERROR_INVALID_VALUE);
    Device& device = device_of(dev);
    Context& primary = primary_context(device);
    if (!primary.alive) {
        activate(primary, primary.flags);
    }
    primary.references += 1;
    Context& green = new_context(device, false);
    green.primary_of_green = &primary;
    green.alive = true;
    *phCtx = reinterpret_cast<CUgreenCtx>(&green);
    return CUDA_SUCCESS;
}

SIM_API(cuGreenCtxDestroy, (CUgreenCtx hCtx), (hCtx)) {
    Context& green = green_of(hCtx);
    Context& primary = *green.primary_of_green;
    std::vector<Stream*> ending;
    streams().for_each([&](Stream& stream) {
        if (stream.context == &green) {
            ending.push_back(&stream);
        }
    });
    for (Stream* stream : ending) {
        end_stream(*stream);
    }
    green.alive = false;
    forget_current(green);
    if (--primary.references == 0) {
        end_context(primary);
    }
    return CUDA_SUCCESS;
}

SIM_API(cuCtxFromGreenCtx, (CUcontext * pContext, CUgreenCtx hCtx), (pContext, hCtx)) {
    require(pContext != nullptr);
    *pContext = green_of(hCtx).handle();
    return CUDA_SUCCESS;
}

SIM_API(cuGreenCtxStreamCreate, (CUstream * phStream, CUgreenCtx greenCtx, unsigned int flags, int priority),
        (phStream, greenCtx, flags, priority)) {
    require(phStream != nullptr && flags == CU_STREAM_NON_BLOCKING);
    *phStream = StreamTable::handle_of(make_stream(green_of(greenCtx), flags, priority));
    return CUDA_SUCCESS;
}

SIM_API(cuGreenCtxGetId, (CUgreenCtx greenCtx, unsigned long long* greenCtxId), (greenCtx, greenCtxId)) {
    require(greenCtxId != nullptr);
    *greenCtxId = green_of(greenCtx).id;
    return CUDA_SUCCESS;
}

SIM_API(cuStreamGetGreenCtx, (CUstream hStream, CUgreenCtx* phCtx), (hStream, phCtx)) {
    require(phCtx != nullptr);
    Context* context = stream_of(hStream).context;
    *phCtx = context->primary_of_green != nullptr ? reinterpret_cast<CUgreenCtx>(context) : nullptr;
    return CUDA_SUCCESS;
}
