// SPDX-License-Identifier: Apache-2.0
// CUDA 13 gave the names without suffix to functions that CUDA 12 called _v2 or _v3. Include after cuda_runtime_api.h:
// in libcudart.so.12 the bodies written for 13 then carry their older names; version_12.cpp has what is missing.
#pragma once

#if SIMULATED_CUDART_MAJOR == 12
#define cudaGraphAddDependencies cudaGraphAddDependencies_v2
#define cudaGraphAddNode cudaGraphAddNode_v2
#define cudaGraphGetEdges cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
#define cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2
#define cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2
#define cudaMemAdvise cudaMemAdvise_v2
#undef cudaMemPrefetchAsync
#undef cudaStreamGetCaptureInfo
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_v2_ptsz
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3_ptsz
#else
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_v2
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#endif
#endif
