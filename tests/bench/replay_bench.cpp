// SPDX-License-Identifier: Apache-2.0
// Events a second through the accounting core, for the ways programs behave. Run:
//   cmake -DVRAMTRACE_BENCHMARKS=ON …; tests/bench/vramtrace_replay_bench
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "analyzer/accounts/accountant.h"
#include "trace/event.h"

namespace {

using vramtrace::accounts::Accountant;
using vramtrace::trace::Event;
using vramtrace::trace::EventKind;

constexpr size_t kEvents = 1 << 20;

// A program that keeps `live` allocations, from `sites` call sites on `threads` threads, and replaces one at random.
std::vector<Event> churn(size_t live, uint32_t sites, uint32_t threads, EventKind make, EventKind end) {
    std::mt19937_64 random(1);
    std::vector<Event> events;
    events.reserve(kEvents);
    std::vector<uint64_t> addresses;
    uint64_t next = 0x7f0000000000;
    while (events.size() < kEvents) {
        Event event;
        event.sequence = events.size();
        event.time = events.size() * 1000;
        event.device = 0;
        event.context = 1;
        event.thread = static_cast<uint32_t>(random() % threads);
        event.stack = static_cast<uint32_t>(1 + random() % sites);
        if (addresses.size() < live) {
            event.kind = make;
            event.address = next += 512 + random() % 64 * 512;
            event.size = 1 + random() % 512;
            addresses.push_back(event.address);
        } else {
            const size_t victim = random() % addresses.size();
            event.kind = end;
            event.address = addresses[victim];
            addresses[victim] = addresses.back();
            addresses.pop_back();
        }
        events.push_back(event);
    }
    return events;
}

void replay(benchmark::State& state, const std::vector<Event>& events) {
    for (auto _ : state) {
        Accountant accountant;
        accountant.add(events);
        benchmark::DoNotOptimize(accountant.replay().live().size());
    }
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * events.size()));
}

void BM_DeviceMemory(benchmark::State& state) {
    replay(state, churn(static_cast<size_t>(state.range(0)), static_cast<uint32_t>(state.range(1)), 4,
                        EventKind::DeviceAlloc, EventKind::DeviceFree));
}
BENCHMARK(BM_DeviceMemory)
    ->Args({16, 8})
    ->Args({1000, 100})
    ->Args({100'000, 1000})
    ->Args({100'000, 20'000})
    ->Unit(benchmark::kMillisecond);

void BM_PoolMemory(benchmark::State& state) {
    replay(state, churn(static_cast<size_t>(state.range(0)), 100, 4, EventKind::PoolAlloc, EventKind::PoolFree));
}
BENCHMARK(BM_PoolMemory)->Arg(1000)->Unit(benchmark::kMillisecond);

// A thread for every few events: the tables by thread must not slow down or grow without end.
void BM_ManyThreads(benchmark::State& state) {
    replay(state, churn(1000, 100, 200'000, EventKind::DeviceAlloc, EventKind::DeviceFree));
}
BENCHMARK(BM_ManyThreads)->Unit(benchmark::kMillisecond);

// Every event is a new peak: the worst case for anything that copies at peaks.
void BM_Growing(benchmark::State& state) {
    replay(state,
           churn(kEvents, static_cast<uint32_t>(state.range(0)), 4, EventKind::DeviceAlloc, EventKind::DeviceFree));
}
BENCHMARK(BM_Growing)->Arg(10)->Arg(10'000)->Unit(benchmark::kMillisecond);

// What a live view pays for its numbers.
void BM_Snapshot(benchmark::State& state) {
    Accountant accountant;
    accountant.add(churn(static_cast<size_t>(state.range(0)), 1000, 4, EventKind::DeviceAlloc, EventKind::DeviceFree));
    for (auto _ : state) benchmark::DoNotOptimize(accountant.accounts());
}
BENCHMARK(BM_Snapshot)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
