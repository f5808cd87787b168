// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/text_report.h"

#include <sstream>

#include "tests/unit/analyzer/report/report_trace.h"

using namespace vramtrace;
using test::ReportTrace;

namespace {

std::string text_of(const Analysis& analysis, const report::Options& options = {}) {
    std::ostringstream out;
    report::write_text(out, report::build_report(analysis, options));
    return out.str();
}

std::string last_line(std::string text) {
    REQUIRE(text.back() == '\n');
    text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

constexpr char kStandard[] = R"(train (pid 4711 on node1) exited with code 0, recorded for 20.0 ms
  command  ./train --epochs 3
  trace    49 events, none lost; hooks active on driver 13.0; device 0: GPU-A, 80.0 GiB

VERDICTS, worst first
  no loop was found in the job's allocations: growth cannot be judged
  [leak] left at exit: 4.00 MiB in 2 pieces of device memory from Tensor::empty(unsigned long) at tensor.h:12 ← load_weights(Model&) at model.cpp:33
      2 allocations, 0 freed
      too few iterations were seen to say whether it grows
  [leak] left at exit: 4.00 KiB in 1 piece of pinned host memory from train+0x999
      1 allocation, 0 freed
  [note] left at exit: 1.00 GiB in 1 piece of address range from Tensor::empty(unsigned long) at tensor.h:12 ← load_weights(Model&) at model.cpp:33
      1 allocation, 0 freed
  [note] handles: 1 × stream never closed, from Tensor::empty(unsigned long) at tensor.h:12 ← load_weights(Model&) at model.cpp:33
      1 made, 0 ended; created and never destroyed
      → Destroy it, or keep one and use it again.

LEFT AT THE END, by call site
  4.00 MiB (4,194,304 bytes) in 2 allocations: device memory by cudaMalloc → cuMemAlloc_v2, device 0
    0.000001 s … 0.000002 s, thread 4711
      Tensor::empty(unsigned long)  tensor.h:12  [inlined]
      load_weights(Model&)  model.cpp:33
      main  train.cpp:80
  4.00 KiB (4,096 bytes) in 1 allocation: pinned host memory by cuMemHostAlloc
    at 0.020046 s, thread 4712
      train+0x999
  Reserved addresses (no memory) 1.00 GiB (1,073,741,824 bytes) in 1 range: Tensor::empty(unsigned long)  tensor.h:12

PEAK of device 0: 100 MiB (104,857,600 bytes) in 4 allocations, 0.000004 s after the start
  64.0 MiB  64 %  1×  step(Model&)  train.cpp:50  by cudaMalloc
  32.0 MiB  32 %  1×  matmul\x1b[2J()  train.cpp:61  inside libcublas.so.13  by cudaMalloc
  4.00 MiB   4 %  2×  Tensor::empty(unsigned long)  tensor.h:12  by cudaMalloc
  Other peaks: host-pinned 4.00 KiB (1 allocation); address-space 1.00 GiB (1 allocation)

FAILED CALLS: 1, of which 0 recovered (the same thread got the same request later)
  0.020044 s  cudaMalloc → cuMemAlloc_v2 of 1.00 TiB (1,099,511,627,776 bytes): error 2 (out of memory)
    live then: device 36.0 MiB, free 70.0 GiB of 80.0 GiB
      step(Model&)  train.cpp:50
      main  train.cpp:80

DEVICE 0 at the end, where its bytes are (80.0 GiB in all)
)";

constexpr char kEnd[] = R"(
CHURN, allocated and freed most often
  allocations  bytes in all  median life  where
           20      1.25 GiB       1.0 ms  step(Model&)  train.cpp:50  by cudaMalloc
            1      32.0 MiB      20.0 ms  matmul\x1b[2J()  train.cpp:61  inside libcublas.so.13  by cudaMalloc

OPEN HANDLES at the end: 1 stream
  1×  stream by cuStreamCreate  Tensor::empty(unsigned long)  tensor.h:12

  LEFT device: 4194304 bytes in 2 allocations
  LEFT host-pinned: 4096 bytes in 1 allocations
LEAK SUMMARY: 4198400 bytes in 3 allocations
)";

ReportTrace standard() {
    ReportTrace trace;
    trace.standard_events();
    trace.fact("command", std::string("./train\0--epochs\0", 17) + "3");
    trace.fact("driver", "13000");
    return trace;
}

}  // namespace

TEST_CASE("the report of a small program, word by word") {
    const std::string text = text_of(standard().analysis());
    // What stands between is the device's decomposition, whose formulas are instant/'s own words.
    const std::string start = kStandard;
    const std::string end = kEnd;
    CHECK(text.substr(0, start.size()) == start);
    REQUIRE(text.size() > end.size());
    CHECK(text.substr(text.size() - end.size()) == end);
    CHECK_THAT(text, ContainsSubstring("4.00 MiB  live"));
    CHECK_THAT(text, ContainsSubstring("70.0 GiB  free"));
    CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("whole stacks keep the driver's frames") {
    report::Options options;
    options.full = true;
    const std::string text = text_of(standard().analysis(), options);
    CHECK_THAT(text, ContainsSubstring("      cudaMalloc  libcudart.so.13+0x10\n"
                                       "      Tensor::empty(unsigned long)  tensor.h:12  [inlined]\n"));
    CHECK_THAT(text, ContainsSubstring("cublasCreate_v2  libcublas.so.13+0x20"));
}

TEST_CASE("a running job leaks nothing yet, lost events forbid a verdict") {
    ReportTrace trace = standard();
    trace.end.how = trace::SourceStatus::End::Running;
    trace.status.running = true;
    trace.status.losses[static_cast<size_t>(trace::Loss::RingFull)] = 12;
    const std::string text = text_of(trace.analysis());
    CHECK_THAT(text, ContainsSubstring("still running"));
    CHECK_THAT(text, ContainsSubstring("LIVE NOW, by call site"));
    CHECK_THAT(text, ContainsSubstring("LIVE NOW in process 4711: 4198400 bytes in 3 allocations"));
    CHECK_THAT(text, ContainsSubstring("12 LOST"));
    CHECK_THAT(text, ContainsSubstring("CANNOT JUDGE"));
    CHECK_THAT(text, ContainsSubstring("12 found no room in the ring"));
    CHECK_THAT(text, ContainsSubstring("  LIVE device: 4194304 bytes in 2 allocations"));
    CHECK(last_line(text) == "LEAK SUMMARY: 0 bytes in 0 allocations (1 process is still running and not counted)");
}

TEST_CASE("a gap in the order tells since when nothing can be judged") {
    ReportTrace trace;
    trace.job.stack(trace.load_).device_alloc(0x1000, 512);
    trace.job.lose(3).device_alloc(0x2000, 512);
    trace.status.missing_tickets = 3;
    CHECK_THAT(text_of(trace.analysis()), ContainsSubstring("CANNOT JUDGE after 0.000001 s"));
}

TEST_CASE("how the process ended is said as exactly as it is known") {
    ReportTrace trace = standard();
    trace.end.how = trace::SourceStatus::End::Signalled;
    trace.end.value = 9;
    CHECK_THAT(text_of(trace.analysis()), ContainsSubstring("killed by signal 9 (SIGKILL)"));
    trace.end.how = trace::SourceStatus::End::Vanished;
    CHECK_THAT(text_of(trace.analysis()), ContainsSubstring("is gone; how it ended could not be seen"));
}

TEST_CASE("several processes have a line each and a total") {
    Analysis analysis = standard().analysis();
    ReportTrace second = standard();
    second.status.identity.pid = 4712;
    analysis.processes.push_back(std::move(second.analysis().processes[0]));
    const std::string text = text_of(analysis);
    CHECK_THAT(text, ContainsSubstring("\nLEAK SUMMARY of process 4711: 4198400 bytes in 3 allocations\n"));
    CHECK_THAT(text, ContainsSubstring("\nLEAK SUMMARY of process 4712: 4198400 bytes in 3 allocations\n"));
    CHECK(last_line(text) == "LEAK SUMMARY: 8396800 bytes in 6 allocations");

    report::Options one;
    one.pid = 4712;
    CHECK_THAT(text_of(analysis, one), !ContainsSubstring("pid 4711"));
}

TEST_CASE("a clean program has a clean last line, and what the runtime keeps is no leak") {
    ReportTrace trace;
    trace.job.stack(trace.load_).label(ReportTrace::kMalloc).api(ReportTrace::kMemAlloc);
    trace.job.device_alloc(0x1000, 512);
    trace.job.device_free(0x1000);
    trace.job.api(ReportTrace::kModuleLoad).object(trace::EventKind::ModuleLoad, 0x77, 4096);
    const std::string text = text_of(trace.analysis());
    CHECK_THAT(text, ContainsSubstring("LEFT AT THE END: nothing"));
    CHECK_THAT(text,
               ContainsSubstring(
                   "Not counted: 4.00 KiB (4,096 bytes) of static variables in modules that the CUDA runtime keeps"));
    CHECK(last_line(text) == "LEAK SUMMARY: 0 bytes in 0 allocations");

    ReportTrace explicitly;
    explicitly.job.stack(explicitly.bare_)
        .api(ReportTrace::kModuleLoad)
        .object(trace::EventKind::ModuleLoad, 0x77, 4 << 20);
    CHECK(last_line(text_of(explicitly.analysis())) == "LEAK SUMMARY: 4194304 bytes in 1 allocations");
}
