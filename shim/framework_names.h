// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// THE NAMES OF FRAMEWORKS' FUNCTIONS whose calls are events of blocks: what Event::api says and a trace's Names definition
// spells. They have the upper end of the 8 bits for themselves, so that neither they nor the CUDA tables
// (hooks/function_table.h, numbered from 1) move when the other gets a row.
//   identifier · text as a C++ programmer writes it
#define VRAMTRACE_FRAMEWORK_FUNCTIONS(X)                           \
    X(TorchMemoryUsage, "c10::reportMemoryUsageToProfiler")        \
    X(TorchOutOfMemory, "c10::reportOutOfMemoryToProfiler")        \
    X(TslAllocate, "tsl::BFCAllocator::AllocateRaw")               \
    X(TslDeallocate, "tsl::BFCAllocator::DeallocateRaw")           \
    X(TensorFlowAllocate, "tensorflow::BFCAllocator::AllocateRaw") \
    X(TensorFlowDeallocate, "tensorflow::BFCAllocator::DeallocateRaw")

namespace vramtrace::shim {

constexpr unsigned kFirstFrameworkName = 232;

enum class FrameworkFunction : uint8_t {
#define VRAMTRACE_FRAMEWORK_FUNCTION(identifier, text) identifier,
    VRAMTRACE_FRAMEWORK_FUNCTIONS(VRAMTRACE_FRAMEWORK_FUNCTION)
#undef VRAMTRACE_FRAMEWORK_FUNCTION
        Count
};
static_assert(kFirstFrameworkName + static_cast<unsigned>(FrameworkFunction::Count) <= 256, "Event::api has 8 bits");

constexpr uint8_t api_of(FrameworkFunction function) {
    return static_cast<uint8_t>(kFirstFrameworkName + static_cast<unsigned>(function));
}

}  // namespace vramtrace::shim
