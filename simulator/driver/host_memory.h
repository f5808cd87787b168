// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/physical_memory.h"

namespace vramtrace::simulator {

PagedHeap& pinned_heap();  // page-locked memory of the host

}  // namespace vramtrace::simulator
