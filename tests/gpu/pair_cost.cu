// SPDX-License-Identifier: Apache-2.0
// Time of one allocation + free pair, cudaMalloc/cudaFree and cudaMallocAsync/cudaFreeAsync, below a call stack of a
// given depth. Prints "NAME median_ns p90_ns" a line. Times vary between processes: compare medians of runs taken in turn.
//   pair_cost [ROUNDS=200] [PAIRS_PER_ROUND=200] [DEPTH=30]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

static int g_depth = 30;

template <typename Body>
__attribute__((noinline)) void below(int depth, Body& body) {
    if (depth > 0) {
        below(depth - 1, body);
    } else {
        body();
    }
    asm volatile("" ::: "memory");
}

template <typename Body>
static void measure(const char* name, int rounds, int pairs, Body body) {
    std::vector<double> ns;
    auto round = [&] {
        for (int i = 0; i < pairs; ++i) body();
    };
    below(g_depth, round);  // warm
    cudaDeviceSynchronize();
    for (int r = 0; r < rounds; ++r) {
        const auto start = std::chrono::steady_clock::now();
        below(g_depth, round);
        const auto stop = std::chrono::steady_clock::now();
        ns.push_back(std::chrono::duration<double, std::nano>(stop - start).count() / pairs);
        cudaDeviceSynchronize();
    }
    std::sort(ns.begin(), ns.end());
    std::printf("%s %.0f %.0f\n", name, ns[ns.size() / 2], ns[ns.size() * 9 / 10]);
}

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
    const int pairs = argc > 2 ? std::atoi(argv[2]) : 200;
    if (argc > 3) g_depth = std::atoi(argv[3]);
    void* keep = nullptr;  // holds its 2 MiB page, so that the pairs do not give the page back each time
    if (cudaMalloc(&keep, 1024) != cudaSuccess) {
        std::fprintf(stderr, "pair_cost: no usable GPU\n");
        return 1;
    }
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    auto plain = [] {
        void* p = nullptr;
        cudaMalloc(&p, 4096);
        cudaFree(p);
    };
    auto ordered = [stream] {
        void* p = nullptr;
        cudaMallocAsync(&p, 4096, stream);
        cudaFreeAsync(p, stream);
    };
    measure("malloc_free", rounds, pairs, plain);
    measure("mallocasync_freeasync", rounds, pairs, ordered);
    cudaFree(keep);
    return 0;
}
