// SPDX-License-Identifier: Apache-2.0
// Allocates and frees in pairs: churn [--threads N] [--pairs N] [--depth N] [--live N] [--bytes N] [--api malloc|async]
//       [--pause MICROSECONDS]
// Each pair is made `depth` calls deep; `live` allocations of each thread stay alive between pairs (a ring of them).
// Prints "pair_ns N" (per pair and thread) and "pairs N" for benchmarks.
#include "tests/programs/expect.h"

#include <cuda_runtime_api.h>

#include <unistd.h>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Options {
    int threads = 1;
    long pairs = 10000;
    int depth = 30;
    int live = 1;
    size_t bytes = 4096;
    bool async = false;
    long pause = 0;  // between pairs
};

void allocate(const Options& options, void** place) {
    if (options.async) {
        MUST(cudaMallocAsync(place, options.bytes, nullptr));
    } else {
        MUST(cudaMalloc(place, options.bytes));
    }
}

void release(const Options& options, void* pointer) {
    if (options.async) {
        MUST(cudaFreeAsync(pointer, nullptr));
    } else {
        MUST(cudaFree(pointer));
    }
}

// The sum after the call keeps the compiler from turning the recursion into a jump.
__attribute__((noinline)) int exchange_at_depth(const Options& options, int depth, void** place) {
    if (depth > 0) return exchange_at_depth(options, depth - 1, place) + 1;
    if (*place != nullptr) release(options, *place);
    allocate(options, place);
    return 0;
}

void work(const Options& options) {
    std::vector<void*> ring(static_cast<size_t>(options.live), nullptr);
    int deepest = 0;
    for (long pair = 0; pair < options.pairs; ++pair) {
        const size_t slot = static_cast<size_t>(pair) % ring.size();
        if (options.pause > 0) usleep(static_cast<useconds_t>(options.pause));
        deepest += exchange_at_depth(options, options.depth, &ring[slot]) == options.depth ? 0 : 1;
    }
    MUST(deepest);
    for (void* pointer : ring) {
        if (pointer != nullptr) release(options, pointer);
    }
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const long value = std::atol(argv[i + 1]);
        if (name == "--threads")
            options.threads = static_cast<int>(value);
        else if (name == "--pairs")
            options.pairs = value;
        else if (name == "--depth")
            options.depth = static_cast<int>(value);
        else if (name == "--live")
            options.live = static_cast<int>(value);
        else if (name == "--bytes")
            options.bytes = static_cast<size_t>(value);
        else if (name == "--pause")
            options.pause = value;
        else if (name == "--api")
            options.async = std::strcmp(argv[i + 1], "async") == 0;
        else
            fail(argv[i], 2);
    }
    MUST_HOLD(options.threads > 0 && options.live > 0 && options.bytes > 0);
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    MUST(cudaFree(nullptr));
    Options warm_up = options;
    warm_up.pairs = options.pairs / 10 + 1;
    work(warm_up);

    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < options.threads; ++i) threads.emplace_back([&] { work(options); });
    for (std::thread& thread : threads) thread.join();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    std::printf("pair_ns %.1f\npairs %ld\n", spent.count() / static_cast<double>(options.pairs),
                options.pairs * options.threads + warm_up.pairs);
    return 0;
}
