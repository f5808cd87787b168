// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/vendor_libraries.h"

#include <array>

namespace vramtrace::symbolize {

namespace {

bool starts_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

// "libcuda" fits "libcuda.so.1" and "libcuda-3f2a91.so.1" (renamed by wheel repair), not "libcudart.so".
bool is_library(std::string_view file, std::string_view name) {
    if (!starts_with(file, name) || file.size() == name.size()) return false;
    const char next = file[name.size()];
    return (next == '.' || next == '-' || next == '_') && file.find(".so") != std::string_view::npos;
}

constexpr std::array<std::string_view, 3> kDriverLibraries = {"libcuda", "libcudart", "libvramtrace"};
constexpr std::array<std::string_view, 24> kVendorLibraries = {
    "libcublas",    "libcublasLt",   "libcudnn",      "libcufft",      "libcufftw",    "libcurand",
    "libcusolver",  "libcusolverMg", "libcusparse",   "libcusparseLt", "libnvrtc",     "libnvrtc-builtins",
    "libnvJitLink", "libnccl",       "libnvjpeg",     "libcupti",      "libcufile",    "libnvshmem_host",
    "libcutensor",  "libcutensorMg", "libnvToolsExt", "libnvinfer",    "libnvidia-ml", "libcusparse_lt"};
// One library in many files.
constexpr std::array<std::string_view, 4> kVendorPrefixes = {"libcudnn_", "libnvidia-", "libnpp", "libnvinfer_"};

}  // namespace

std::string_view file_name(std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Vendor vendor_of_module(std::string_view path) {
    const std::string_view file = file_name(path);
    for (const std::string_view name : kDriverLibraries) {
        if (is_library(file, name)) return Vendor::Driver;
    }
    for (const std::string_view name : kVendorLibraries) {
        if (is_library(file, name)) return Vendor::Library;
    }
    for (const std::string_view prefix : kVendorPrefixes) {
        if (starts_with(file, prefix)) return Vendor::Library;
    }
    return Vendor::None;
}

Vendor vendor_of_frame(const SourceFrame& frame) {
    const std::string_view file = file_name(frame.file);
    // The templates around the C functions, inlined into the user's code.
    if (file == "cuda_runtime.h" || file == "cuda_runtime_api.h") return Vendor::Driver;
    const std::string_view function = frame.function;
    if (starts_with(function, "libcudart_static_") || starts_with(function, "__cudart")) return Vendor::Driver;
    // cudaMalloc, cudaGraphAddMemAllocNode_v2, …: the runtime's C functions, no parameter list after the name.
    const bool c_name = function.size() > 4 && starts_with(function, "cuda") && function[4] >= 'A' &&
                        function[4] <= 'Z' && function.find_first_of("(:< ") == std::string_view::npos;
    return c_name ? Vendor::Driver : Vendor::None;
}

}  // namespace vramtrace::symbolize
