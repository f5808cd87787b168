// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/streams.h"

using namespace vramtrace::simulator;

namespace {

CUresult release_primary(CUdevice dev) {
    Context& context = primary_context(device_of(dev));
    require(context.references > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--context.references == 0) {
        end_context(context);
    }
    return CUDA_SUCCESS;
}

// Ends everything on the context, but a holder still owes its release.
CUresult reset_primary(CUdevice dev) {
    end_context(primary_context(device_of(dev)));
    return CUDA_SUCCESS;
}

CUresult set_primary_flags(CUdevice dev, unsigned int flags) {
    require((flags & ~static_cast<unsigned int>(CU_CTX_FLAGS_MASK)) == 0);
    primary_context(device_of(dev)).flags = flags;
    return CUDA_SUCCESS;
}

CUresult create(CUcontext* pctx, unsigned int flags, CUdevice dev) {
    require(pctx != nullptr && (flags & ~static_cast<unsigned int>(CU_CTX_FLAGS_MASK)) == 0);
    Device& device = device_of(dev);
    Context& context = new_context(device, false);
    activate(context, flags);
    context.references = 1;
    push_context(&context);
    *pctx = context.handle();
    return CUDA_SUCCESS;
}

CUresult destroy(CUcontext ctx) {
    Context& context = context_of(ctx);
    require(!context.primary && context.primary_of_green == nullptr, CUDA_ERROR_INVALID_CONTEXT);
    end_context(context);
    forget_current(context);
    return CUDA_SUCCESS;
}

CUresult synchronize(Context& context) {
    refuse_in_capture();
    finish_streams_of(context.owner());
    return CUDA_SUCCESS;
}

CUresult push(CUcontext ctx) {
    push_context(&context_of(ctx));
    return CUDA_SUCCESS;
}

CUresult pop(CUcontext* pctx) {
    Context* context = pop_context();
    if (pctx != nullptr) {
        *pctx = context->handle();
    }
    return CUDA_SUCCESS;
}

}  // namespace

SIM_API(cuDevicePrimaryCtxRetain, (CUcontext * pctx, CUdevice dev), (pctx, dev)) {
    require(pctx != nullptr);
    Context& context = primary_context(device_of(dev));
    if (!context.alive) {
        activate(context, context.flags);
    }
    context.references += 1;
    *pctx = context.handle();
    return CUDA_SUCCESS;
}

SIM_API(cuDevicePrimaryCtxRelease, (CUdevice dev), (dev)) {
    return release_primary(dev);
}

SIM_API(cuDevicePrimaryCtxRelease_v2, (CUdevice dev), (dev)) {
    return release_primary(dev);
}

SIM_API(cuDevicePrimaryCtxReset, (CUdevice dev), (dev)) {
    return reset_primary(dev);
}

SIM_API(cuDevicePrimaryCtxReset_v2, (CUdevice dev), (dev)) {
    return reset_primary(dev);
}

SIM_API(cuDevicePrimaryCtxSetFlags, (CUdevice dev, unsigned int flags), (dev, flags)) {
    return set_primary_flags(dev, flags);
}

SIM_API(cuDevicePrimaryCtxSetFlags_v2, (CUdevice dev, unsigned int flags), (dev, flags)) {
    return set_primary_flags(dev, flags);
}

SIM_API(cuDevicePrimaryCtxGetState, (CUdevice dev, unsigned int* flags, int* active), (dev, flags, active)) {
    require(flags != nullptr && active != nullptr);
    const Context& context = primary_context(device_of(dev));
    *flags = context.flags;
    *active = context.alive ? 1 : 0;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxCreate, (CUcontext * pctx, unsigned int flags, CUdevice dev), (pctx, flags, dev)) {
    return create(pctx, flags, dev);
}

SIM_API(cuCtxCreate_v2, (CUcontext * pctx, unsigned int flags, CUdevice dev), (pctx, flags, dev)) {
    return create(pctx, flags, dev);
}

SIM_API(cuCtxCreate_v3,
        (CUcontext * pctx, CUexecAffinityParam* paramsArray, int numParams, unsigned int flags, CUdevice dev),
        (pctx, paramsArray, numParams, flags, dev)) {
    require(numParams == 0, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    return create(pctx, flags, dev);
}

SIM_API(cuCtxCreate_v4, (CUcontext * pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags, CUdevice dev),
        (pctx, ctxCreateParams, flags, dev)) {
    require(ctxCreateParams == nullptr || ctxCreateParams->numExecAffinityParams == 0,
            CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    require(ctxCreateParams == nullptr || ctxCreateParams->cigParams == nullptr, CUDA_ERROR_NOT_SUPPORTED);
    return create(pctx, flags, dev);
}

SIM_API(cuCtxDestroy, (CUcontext ctx), (ctx)) {
    return destroy(ctx);
}

SIM_API(cuCtxDestroy_v2, (CUcontext ctx), (ctx)) {
    return destroy(ctx);
}

SIM_API(cuCtxAttach, (CUcontext * pctx, unsigned int flags), (pctx, flags)) {
    require(pctx != nullptr && flags == 0);
    Context& context = current_context();
    require(!context.primary && context.primary_of_green == nullptr, CUDA_ERROR_INVALID_CONTEXT);
    context.references += 1;
    *pctx = context.handle();
    return CUDA_SUCCESS;
}

SIM_API(cuCtxDetach, (CUcontext ctx), (ctx)) {
    Context& context = context_of(ctx);
    require(!context.primary && context.primary_of_green == nullptr, CUDA_ERROR_INVALID_CONTEXT);
    if (--context.references == 0) {
        end_context(context);
        forget_current(context);
    }
    return CUDA_SUCCESS;
}

SIM_API(cuCtxPushCurrent, (CUcontext ctx), (ctx)) {
    return push(ctx);
}

SIM_API(cuCtxPushCurrent_v2, (CUcontext ctx), (ctx)) {
    return push(ctx);
}

SIM_API(cuCtxPopCurrent, (CUcontext * pctx), (pctx)) {
    return pop(pctx);
}

SIM_API(cuCtxPopCurrent_v2, (CUcontext * pctx), (pctx)) {
    return pop(pctx);
}

SIM_API(cuCtxSetCurrent, (CUcontext ctx), (ctx)) {
    set_context(ctx == nullptr ? nullptr : &context_of(ctx));
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetCurrent, (CUcontext * pctx), (pctx)) {
    require(pctx != nullptr);
    Context* context = current_context_or_null();
    *pctx = context == nullptr ? nullptr : context->handle();
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetDevice, (CUdevice * device), (device)) {
    require(device != nullptr);
    *device = current_context().device->ordinal;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetDevice_v2, (CUdevice * device, CUcontext ctx), (device, ctx)) {
    require(device != nullptr);
    *device = (ctx == nullptr ? current_context() : context_of(ctx)).device->ordinal;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetFlags, (unsigned int* flags), (flags)) {
    require(flags != nullptr);
    *flags = current_context().flags;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxSetFlags, (unsigned int flags), (flags)) {
    current_context().flags = flags;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetId, (CUcontext ctx, unsigned long long* ctxId), (ctx, ctxId)) {
    require(ctxId != nullptr);
    *ctxId = (ctx == nullptr ? current_context() : context_of(ctx)).id;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxSynchronize, (void), ()) {
    return synchronize(current_context());
}

SIM_API(cuCtxSynchronize_v2, (CUcontext ctx), (ctx)) {
    return synchronize(ctx == nullptr ? current_context() : context_of(ctx));
}

SIM_API(cuCtxSetLimit, (CUlimit limit, size_t value), (limit, value)) {
    require(limit < CU_LIMIT_MAX, CUDA_ERROR_UNSUPPORTED_LIMIT);
    set_limit(current_context().owner(), limit, value);
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetLimit, (size_t * pvalue, CUlimit limit), (pvalue, limit)) {
    require(pvalue != nullptr);
    require(limit < CU_LIMIT_MAX, CUDA_ERROR_UNSUPPORTED_LIMIT);
    *pvalue = current_context().owner().limits[limit];
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetCacheConfig, (CUfunc_cache * pconfig), (pconfig)) {
    require(pconfig != nullptr);
    *pconfig = current_context().cache;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxSetCacheConfig, (CUfunc_cache config), (config)) {
    current_context().cache = config;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetSharedMemConfig, (CUsharedconfig * pConfig), (pConfig)) {
    require(pConfig != nullptr);
    *pConfig = current_context().shared_config;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxSetSharedMemConfig, (CUsharedconfig config), (config)) {
    current_context().shared_config = config;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetApiVersion, (CUcontext ctx, unsigned int* version), (ctx, version)) {
    require(version != nullptr);
    if (ctx != nullptr) {
        context_of(ctx);
    } else {
        current_context();
    }
    *version = 3020;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetStreamPriorityRange, (int* leastPriority, int* greatestPriority), (leastPriority, greatestPriority)) {
    current_context();
    if (leastPriority != nullptr) {
        *leastPriority = 0;
    }
    if (greatestPriority != nullptr) {
        *greatestPriority = -5;
    }
    return CUDA_SUCCESS;
}

SIM_API(cuCtxResetPersistingL2Cache, (void), ()) {
    current_context();
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetExecAffinity, (CUexecAffinityParam * pExecAffinity, CUexecAffinityType type), (pExecAffinity, type)) {
    require(pExecAffinity != nullptr && type == CU_EXEC_AFFINITY_TYPE_SM_COUNT);
    current_context();
    pExecAffinity->type = type;
    pExecAffinity->param.smCount.val = 132;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxEnablePeerAccess, (CUcontext peerContext, unsigned int Flags), (peerContext, Flags)) {
    require(Flags == 0);
    Context& context = current_context();
    Context& peer = context_of(peerContext);
    require(peer.device != context.device, CUDA_ERROR_INVALID_DEVICE);
    require(context.peers.insert(&peer).second, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    return CUDA_SUCCESS;
}

SIM_API(cuCtxDisablePeerAccess, (CUcontext peerContext), (peerContext)) {
    Context& context = current_context();
    Context& peer = context_of(peerContext);
    require(context.peers.erase(&peer) == 1, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    return CUDA_SUCCESS;
}
