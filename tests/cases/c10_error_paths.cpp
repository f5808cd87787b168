// SPDX-License-Identifier: Apache-2.0
// A free that some executions miss: c10_error_paths leaking | control
#include "tests/cases/case.h"

#include <memory>
#include <stdexcept>

namespace {

bool leaking_ = true;
void* buffer_ = nullptr;
size_t buffer_bytes_ = 0;

struct Free {
    void operator()(void* memory) const { MUST(cudaFree(memory)); }
};

}  // namespace

CASE_FUNCTION void solver_f(int call) {
    void* const workspace = device_memory(8 * kMiB);
    std::unique_ptr<void, Free> guard(leaking_ ? nullptr : workspace);
    if (call % 3 == 2) throw std::runtime_error("the check of the solver failed");
    if (leaking_) MUST(cudaFree(workspace));
}

CASE_FUNCTION void resize_g(size_t bytes) {
    if (bytes == buffer_bytes_) return;
    if (!leaking_ && buffer_ != nullptr) MUST(cudaFree(buffer_));
    buffer_ = device_memory(bytes);
    buffer_bytes_ = bytes;
}

int main(int argc, char** argv) {
    leaking_ = !is_part(argc, argv, "control");
    for (int call = 0; call < 30; ++call) {
        try {
            solver_f(call);
        } catch (const std::runtime_error&) {
        }
    }
    for (const size_t mib : {4, 6, 4, 6, 8}) resize_g(mib * kMiB);
    MUST(cudaFree(buffer_));
    return 0;
}
