// SPDX-License-Identifier: Apache-2.0
// The last error of a thread, and what errors are called.
#include "simulator/runtime/api_call.h"

#include <cuda_runtime_api.h>

namespace vramtrace::simulator::runtime {
namespace {

thread_local cudaError_t last_error_ = cudaSuccess;

struct ErrorText {
    cudaError_t code;
    const char* name;
    const char* text;
};

const ErrorText kErrorTexts[] = {
#include "simulator/runtime/error_texts.inc"
};

const ErrorText* find_text(cudaError_t error) {
    for (const ErrorText& entry : kErrorTexts) {
        if (entry.code == error) return &entry;
    }
    return nullptr;
}

}  // namespace

cudaError_t report(cudaError_t error) {
    if (error != cudaSuccess) last_error_ = error;
    return error;
}

}  // namespace vramtrace::simulator::runtime

using namespace vramtrace::simulator::runtime;

extern "C" {

cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error_;
    last_error_ = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError() {
    return last_error_;
}

const char* cudaGetErrorName(cudaError_t error) {
    const ErrorText* entry = find_text(error);
    return entry != nullptr ? entry->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
    const ErrorText* entry = find_text(error);
    return entry != nullptr ? entry->text : "unrecognized error code";
}

}  // extern "C"
