// SPDX-License-Identifier: Apache-2.0
#include "analyzer/opaque_arenas.h"

#include <algorithm>
#include <string_view>

namespace vramtrace {

namespace {

// Arenas are few and great; a framework that asks the driver for each buffer makes many of all sizes.
constexpr uint64_t kMostRegions = 64;
constexpr uint64_t kLeastMean = uint64_t{1} << 20;

constexpr char kJax[] =
    "vramtrace run --framework-detail shows each buffer (XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async, "
    "XLA_PYTHON_CLIENT_PREALLOCATE=false)";
constexpr char kTensorFlow[] = "TF_GPU_ALLOCATOR=cuda_malloc_async shows each buffer";
constexpr char kCupy[] =
    "freed arrays stay in its pool; cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc) in the program shows "
    "each "
    "array";

enum class Maker { None, Jax, TensorFlow, Cupy };

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

Maker maker_of(const NamedFrame& frame) {
    const std::string file = frame.module_name();
    for (const char* part : {"pjrt_c_api_gpu_plugin", "xla_cuda_plugin", "xla_extension"})
        if (contains(file, part)) return Maker::Jax;
    for (const char* part : {"libtensorflow_framework", "libtensorflow_cc", "_pywrap_tensorflow_internal"})
        if (contains(file, part)) return Maker::TensorFlow;
    for (const char* part : {"/cupy/", "/cupy_backends/"})
        if (contains(frame.module, part)) return Maker::Cupy;
    return Maker::None;
}

// Whether the job ran with an allocator of XLA's that asks the driver for each buffer.
bool asks_for_each_buffer(const ProcessFacts& facts) {
    for (const std::string& setting : facts.allocator_settings) {
        for (const char* allocator : {"platform", "address", "cuda_async", "vmm"})
            if (setting == std::string("XLA_PYTHON_CLIENT_ALLOCATOR=") + allocator) return true;
        if (setting == "TF_GPU_ALLOCATOR=cuda_malloc_async" || setting == "TF_GPU_ALLOCATOR=cuda_malloc") return true;
    }
    return false;
}

bool shows_blocks(const ProcessAnalysis& process) {
    const auto& kinds = process.accounts.events_by_kind;
    const auto blocks = kinds.find(trace::EventKind::BlockAlloc);
    return blocks != kinds.end() && blocks->second != 0;
}

bool looks_like_regions(const accounts::Site& site) {
    return site.allocated.count != 0 && site.allocated.count <= kMostRegions &&
           site.allocated.bytes / site.allocated.count >= kLeastMean;
}

}  // namespace

std::string OpaqueArena::sentence() const {
    return "opaque arena of " + framework + ": cannot judge inside; " + remedy;
}

OpaqueArena opaque_arena(const ProcessAnalysis& process, const accounts::Site& site) {
    using replay::Kind;
    const Kind kind = site.key.kind;
    if (kind != Kind::DeviceMemory && kind != Kind::ManagedMemory && kind != Kind::HostMemory && kind != Kind::Physical)
        return {};
    const NamedStack& stack = process.stack(site.key.stack);
    if (!stack.inside.empty()) return {};  // a library's workspace is no arena
    // The headline may be the Python line that asked for it.
    const auto& recorded = stack.recorded();
    const auto asked =
        std::find_if(recorded.begin(), recorded.end(), [&](uint32_t index) { return !process.frames[index].vendor; });
    if (asked == recorded.end()) return {};
    const Maker maker = maker_of(process.frames[*asked]);
    if (maker == Maker::None) return {};
    if (maker == Maker::Cupy) return {"CuPy", kCupy};
    if (!looks_like_regions(site) || asks_for_each_buffer(process.facts)) return {};
    if (maker == Maker::Jax) return {"JAX", kJax};
    return shows_blocks(process) ? OpaqueArena{} : OpaqueArena{"TensorFlow", kTensorFlow};
}

}  // namespace vramtrace
