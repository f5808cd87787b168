// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "analyzer/symbolize/frame.h"

// WHOSE CODE A FRAME IS: the driver, the CUDA runtime and NVIDIA's libraries allocate because somebody called them; the
// interesting line is the caller's.
namespace vramtrace::symbolize {

enum class Vendor {
    None,     // the user's program or a framework
    Driver,   // libcuda, libcudart, ourselves: on every stack
    Library,  // libcublas, libnccl, …: worth naming ("inside libcublas.so.13")
};

// By the file name of the module. "/usr/lib/libcublas.so.13.0.0" → Library.
Vendor vendor_of_module(std::string_view path);

// A CUDA runtime that was linked statically lies in the user's own module: by function and file name.
Vendor vendor_of_frame(const SourceFrame& frame);

std::string_view file_name(std::string_view path);

}  // namespace vramtrace::symbolize
