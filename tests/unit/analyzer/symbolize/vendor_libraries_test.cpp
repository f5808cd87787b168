// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/vendor_libraries.h"

#include "tests/support/catch.h"

using namespace vramtrace::symbolize;

TEST_CASE("the driver's and NVIDIA's libraries are told from the user's by file name") {
    CHECK(vendor_of_module("/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04") == Vendor::Driver);
    CHECK(vendor_of_module("/venv/nvidia/cuda_runtime/lib/libcudart.so.12") == Vendor::Driver);
    CHECK(vendor_of_module("libcudart-d0da41ae.so.11.0") == Vendor::Driver);
    CHECK(vendor_of_module("/opt/lib/libvramtrace.so") == Vendor::Driver);
    CHECK(vendor_of_module("/lib/libcublasLt.so.13") == Vendor::Library);
    CHECK(vendor_of_module("/lib/libcudnn_ops.so.9") == Vendor::Library);
    CHECK(vendor_of_module("/lib/libnvidia-ptxjitcompiler.so.1") == Vendor::Library);
    CHECK(vendor_of_module("/lib/libtorch_cuda.so") == Vendor::None);
    CHECK(vendor_of_module("/home/me/libcudahelper.so") == Vendor::None);
    CHECK(vendor_of_module("/home/me/libcuda/train") == Vendor::None);
    CHECK(vendor_of_module("") == Vendor::None);
}

TEST_CASE("a statically linked runtime is told by its functions") {
    CHECK(vendor_of_frame({"libcudart_static_3cdba7f5a90e7b5a", "", 0, false}) == Vendor::Driver);
    CHECK(vendor_of_frame({"cudaMalloc", "", 0, false}) == Vendor::Driver);
    CHECK(vendor_of_frame({"cudaError cudaMalloc<float>(float**, unsigned long)", "/cuda/include/cuda_runtime.h", 6,
                           true}) == Vendor::Driver);
    CHECK(vendor_of_frame({"cudaWrapper::grow(int)", "/src/w.cpp", 3, false}) == Vendor::None);
    CHECK(vendor_of_frame({"cudaMallocOrDie(unsigned long)", "/src/w.cpp", 3, false}) == Vendor::None);
    CHECK(vendor_of_frame({"cuda", "", 0, false}) == Vendor::None);
}
