// SPDX-License-Identifier: Apache-2.0
// What one capture costs, side by side with unw_backtrace of libunwind. The number is the depth below the benchmark's own
// frames.
#include <benchmark/benchmark.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "shim/capture/stack_capture.h"
#include "tests/unit/shim/capture/memory_definitions.h"

using namespace vramtrace;

namespace {

test::MemoryDefinitions& definitions() {
    static test::MemoryDefinitions table(512U << 20);
    return table;
}

// Frames of several shapes, so that not all come from one row of the cache.
template <int Shape, typename Body>
[[gnu::noinline]] int below(int depth, Body& body) {
    volatile char room[16 + 16 * Shape] = {};
    if (depth == 0) {
        body();
    } else {
        room[1] = static_cast<char>(below<(Shape + 1) % 24>(depth - 1, body));
    }
    return room[1] + depth;
}

uint32_t frames_of(int depth) {
    uint32_t frames = 0;
    auto body = [&] {
        const auto captured = shim::capture_stack(definitions().table(), 128);
        frames = definitions().stack(captured.id).body.frame_count;
    };
    below<0>(depth, body);
    return frames;
}

void count_frames(benchmark::State& state) {
    state.counters["frames"] = frames_of(static_cast<int>(state.range(0)));
}

// The same stack again and again.
void capture_same(benchmark::State& state) {
    auto body = [&] {
        for (auto _ : state) benchmark::DoNotOptimize(shim::capture_stack(definitions().table(), 128).id);
    };
    below<0>(static_cast<int>(state.range(0)), body);
    count_frames(state);
}

void libunwind_same(benchmark::State& state) {
    auto body = [&] {
        void* addresses[1024];
        for (auto _ : state) benchmark::DoNotOptimize(unw_backtrace(addresses, 1024));
    };
    below<0>(static_cast<int>(state.range(0)), body);
    count_frames(state);
}

// Every capture under other inner frames than the last one, as in a framework that dispatches to many operators.
template <typename Capture>
void changing(benchmark::State& state, Capture&& capture) {
    auto body = [&] {
        int i = 0;
        for (auto _ : state) {
            auto inner = [&] { capture(); };
            if (i % 3 == 0) below<3>(8, inner);
            if (i % 3 == 1) below<7>(9, inner);
            if (i % 3 == 2) below<11>(7, inner);
            ++i;
        }
    };
    below<0>(static_cast<int>(state.range(0)), body);
    count_frames(state);
}

void capture_changing(benchmark::State& state) {
    changing(state, [] { benchmark::DoNotOptimize(shim::capture_stack(definitions().table(), 128).id); });
}
void libunwind_changing(benchmark::State& state) {
    changing(state, [] {
        void* addresses[1024];
        benchmark::DoNotOptimize(unw_backtrace(addresses, 1024));
    });
}

// After an unload: the list of mappings is read again.
void capture_after_unload(benchmark::State& state) {
    auto body = [&] {
        for (auto _ : state) {
            shim::bump_unload_epoch();
            benchmark::DoNotOptimize(shim::capture_stack(definitions().table(), 128).id);
        }
    };
    below<0>(static_cast<int>(state.range(0)), body);
}

}  // namespace

BENCHMARK(capture_same)->Arg(5)->Arg(21)->Arg(50)->Arg(100);
BENCHMARK(libunwind_same)->Arg(5)->Arg(21)->Arg(50)->Arg(100);
BENCHMARK(capture_changing)->Arg(13)->Arg(50);
BENCHMARK(libunwind_changing)->Arg(13)->Arg(50);
BENCHMARK(capture_same)->Arg(21)->Threads(2);
BENCHMARK(libunwind_same)->Arg(21)->Threads(2);
BENCHMARK(capture_after_unload)->Arg(21);
BENCHMARK_MAIN();
