// SPDX-License-Identifier: Apache-2.0
// Built as libcublas.so.13, for that is how the report knows whose memory it is. Not cuBLAS: it multiplies nothing.
#include "tests/cases/workspaces.h"

#include "tests/cases/case.h"

#include <map>

namespace {

std::map<void*, void*> workspaces_;  // by stream, of the one handle

__attribute__((noinline)) void* make_workspace(size_t bytes) {
    return device_memory(bytes);
}

}  // namespace

void stand_in_matmul(void* stream, size_t workspace_bytes) {
    void*& workspace = workspaces_[stream];
    if (workspace == nullptr) workspace = make_workspace(workspace_bytes);
}

void stand_in_destroy_handle() {
    for (const auto& [stream, workspace] : workspaces_) MUST(cudaFree(workspace));
    workspaces_.clear();
}
