// SPDX-License-Identifier: Apache-2.0
// What one event costs in the job, without the driver and its locks: record() from 1, 2 and 4 threads, without a stack and
// below 30 frames. Real time: what the threads together got done. No collector; the buffer holds what all runs write.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "shim/record/recorder.h"

using namespace vramtrace;

namespace {

constexpr int kIterations = 400'000;  // per thread: 25.6 MB of events

std::string trace_directory() {
    return std::string(std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp") + "/vramtrace-recorder-bench";
}

template <typename Body>
[[gnu::noinline]] int below(int depth, Body& body) {
    volatile int kept = depth;
    if (depth == 0) {
        body();
    } else {
        kept = below(depth - 1, body);
    }
    return kept + 1;
}

void record_events(benchmark::State& state) {
    const auto stack = shim::WithStack(state.range(0) != 0);
    uint64_t lost = 0;
    auto body = [&] {
        trace::Event event;
        event.kind = trace::EventKind::DeviceAlloc;
        for (auto _ : state) {
            event.address += 4096;
            lost += shim::record(event, shim::OpensRing::Yes, stack) == shim::kNotRecorded;
        }
    };
    below(static_cast<int>(state.range(0)), body);
    if (lost != 0) state.SkipWithError("events were lost");
}

}  // namespace

BENCHMARK(record_events)->Arg(0)->Arg(30)->Iterations(kIterations)->Threads(1)->Threads(2)->Threads(4)->UseRealTime();

int main(int argc, char** argv) {
    setenv("VRAMTRACE_DIR", trace_directory().c_str(), 1);
    setenv("VRAMTRACE_COLLECTOR", "0", 1);
    setenv("VRAMTRACE_BUFFER_LIMIT", "1G", 1);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    std::filesystem::remove_all(trace_directory());
}
