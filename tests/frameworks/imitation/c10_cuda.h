// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/frameworks/imitation/c10.h"

// The functions of the imitated libc10_cuda.so, as the job looks them up: a caching allocator of one segment, under one
// lock, that tells of each block as the PyTorch of some time did.
struct Allocator {
    void* (*alloc)(Reported how, size_t bytes);  // nullptr after an out-of-memory, which is told of
    void (*free)(Reported how, void* pointer, size_t bytes);
    void (*report)(const Report& report);  // just tells: other devices, odd values
    void (*warm_up)();                     // makes the segment
    void (*lock)();
    void (*unlock)();
};

extern "C" Allocator imitation_allocator();
