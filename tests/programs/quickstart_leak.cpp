// SPDX-License-Identifier: Apache-2.0
// A small training-like loop with one leak: every step keeps its activations. Builds with nvcc, or with a C++ compiler
// and -lcudart.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr size_t MiB = 1 << 20;

void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}

void* device_buffer(size_t bytes) {
    void* buffer = nullptr;
    check(cudaMalloc(&buffer, bytes), "cudaMalloc");
    return buffer;
}

}  // namespace

struct Model {
    void* weights;
    void* gradients;
};

__attribute__((noinline)) Model load_model() {
    return {device_buffer(96 * MiB), device_buffer(96 * MiB)};
}

__attribute__((noinline)) void* load_batch() {
    void* batch = device_buffer(8 * MiB);
    check(cudaMemset(batch, 0, 8 * MiB), "cudaMemset");
    return batch;
}

// The bug: nobody ever frees what this returns.
__attribute__((noinline)) void* forward_pass(const Model&, void* /*batch*/) {
    return device_buffer(3 * MiB);
}

__attribute__((noinline)) void backward_pass(const Model&, void* /*activations*/) {
    void* scratch = device_buffer(24 * MiB);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaFree(scratch), "cudaFree");
}

int main(int argc, char** argv) {
    const int steps = argc > 1 ? std::atoi(argv[1]) : 40;
    Model model = load_model();
    for (int step = 0; step < steps; ++step) {
        void* batch = load_batch();
        void* activations = forward_pass(model, batch);
        backward_pass(model, activations);
        check(cudaFree(batch), "cudaFree");
    }
    check(cudaFree(model.weights), "cudaFree");
    check(cudaFree(model.gradients), "cudaFree");
    std::printf("%d steps done\n", steps);
    return 0;
}
