// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// TENSORFLOW: the blocks of its BFCAllocator, which serves device memory and pinned host memory alike. The analyzer tells
// them apart by the region in which they lie. docs/frameworks.md says what was verified on which build.
namespace vramtrace::shim {

// The self-check: whether a BFCAllocator is loaded whose virtual functions do not lead to us, so that its blocks are not
// seen. Puts the path of its library into `path` and says so once a process. Called at allocations of CUDA memory: its
// regions come from there. Looks at the 1st, 2nd, 4th, … of them until there is an allocator to look at; else one load.
bool unreached_tensorflow(char* path, size_t room);

}  // namespace vramtrace::shim
