// SPDX-License-Identifier: Apache-2.0
#pragma once

// The driver's own prototypes: every ABI of every function under its exported name, no renaming macros, exported.
// The compiler then checks each body against the public header.
#define __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <cuda.h>
#pragma GCC visibility push(default)
#include <cudaProfiler.h>
#pragma GCC visibility pop
#pragma GCC diagnostic pop
