// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/tensor_sections.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/report/json_report.h"
#include "analyzer/report/text_report.h"
#include "tests/unit/analyzer/report/report_trace.h"

using namespace vramtrace;
using test::ReportTrace;
using E = ReportTrace::Kind;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kSmall = 0x7f0000000000;
constexpr uint64_t kLarge = 0x7f1000000000;

std::string text_of(const Analysis& analysis, const report::Options& options = {}) {
    std::ostringstream out;
    report::write_text(out, report::build_report(analysis, options));
    return out.str();
}

nlohmann::json json_of(const Analysis& analysis) {
    std::ostringstream out;
    report::write_json(out, report::build_report(analysis, {}));
    return nlohmann::json::parse(out.str())["processes"][0];
}

// A training loop on PyTorch: weights in a large segment, a list of losses that grows in a small one, one out-of-memory.
void training(ReportTrace& trace) {
    trace.fact(trace::fact::kFramework, "PyTorch 2.11.0+cu130");
    trace.fact(trace::fact::kPython, "CPython 3.12.3");
    trace.fact(trace::fact::kAllocator, "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128");
    test::EventBuilder& job = trace.job;
    job.thread(4711).device(0);
    job.stack(trace.load_).label(ReportTrace::kMalloc).api(ReportTrace::kMemAlloc);
    job.device_alloc(kLarge, 20 * kMiB);
    job.label(0).api(0);
    job.block_alloc(kLarge, 12 * kMiB, 12 * kMiB, 20 * kMiB);
    job.stack(trace.step_).label(ReportTrace::kMalloc).api(ReportTrace::kMemAlloc).device_alloc(kSmall, 2 * kMiB);
    job.label(0).api(0);
    for (uint64_t i = 0; i < 10; ++i) {
        const uint64_t live = 12 * kMiB + (i + 1) * 512;
        job.stack(trace.step_).block_alloc(kSmall + i * 512, 512, live, 22 * kMiB);
        job.stack(trace.workspace_).block_alloc(kLarge + 12 * kMiB, 4 * kMiB, live + 4 * kMiB, 22 * kMiB);
        job.wait(1'000'000).block_free(kLarge + 12 * kMiB, 4 * kMiB, live, 22 * kMiB);
    }
    job.stack(trace.step_).label(ReportTrace::kMalloc).api(ReportTrace::kMemAlloc);
    job.call_failed(E::DeviceAlloc, 1ULL << 40);
    job.call_failed(E::DeviceAlloc, 1ULL << 40);
    job.label(0).api(0).framework_out_of_memory(1ULL << 40, 12 * kMiB + 5120, 22 * kMiB);
}

}  // namespace

TEST_CASE("a job with blocks is told by its tensors first", "[report][tensors]") {
    ReportTrace trace;
    training(trace);
    const Analysis analysis = trace.analysis();
    const std::string text = text_of(analysis);
    CHECK_THAT(text, ContainsSubstring("  software PyTorch 2.11.0+cu130; CPython 3.12.3; "
                                       "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128\n"));
    CHECK_THAT(text,
               ContainsSubstring("  tensors  the tensor level comes from PyTorch's caching allocator: every block "
                                 "that it hands out\n"));
    CHECK_THAT(text, ContainsSubstring(R"(
TENSORS LEFT AT THE END, by call site
  12.0 MiB (12,582,912 bytes) in 1 tensor: tensor block, device 0
    at 0.000002 s, thread 4711
      Tensor::empty(unsigned long)  tensor.h:12  [inlined]
      load_weights(Model&)  model.cpp:33
      main  train.cpp:80
  5.00 KiB (5,120 bytes) in 10 tensors: tensor block, device 0
)"));
    CHECK_THAT(text, ContainsSubstring(R"(
TENSOR PEAK of device 0: 16.0 MiB (16,782,336 bytes) in 12 tensors, )"));
    CHECK_THAT(text, ContainsSubstring(R"(
TENSOR MEMORY of device 0, at the end, as torch.cuda.memory_summary() counts it
  CUDA OOMs: 1; cudaMalloc retries: 1
  metric                      now      peak  allocated in all  freed in all
  Allocated memory       12.0 MiB  16.0 MiB          52.0 MiB      40.0 MiB
    from large pool      12.0 MiB  16.0 MiB          52.0 MiB      40.0 MiB
    from small pool      5.00 KiB  5.00 KiB          5.00 KiB           0 B
)"));
    CHECK_THAT(text,
               ContainsSubstring("  GPU reserved segments         2         2                 2             0\n"));
    CHECK_THAT(text,
               ContainsSubstring("raised as out of memory by the framework: 1.00 TiB (1,099,511,627,776 bytes) asked "
                                 "for, allocated 12.0 MiB, reserved 22.0 MiB"));
    CHECK_THAT(text, ContainsSubstring("segments that a framework keeps its tensors in"));
    CHECK(text.find("NOTE: the framework itself counts") == std::string::npos);
    CHECK(text.find("TENSORS LEFT") < text.find("\nLEFT AT THE END"));
    // The leak summary stays with the driver's memory: no byte twice.
    CHECK_THAT(text,
               ContainsSubstring("  LEFT device: 23068672 bytes in 2 allocations\n"
                                 "  LEFT tensor: 12588032 bytes in 11 blocks, which lie in the memory above and are "
                                 "not counted again\nLEAK SUMMARY: 23068672 bytes in 2 allocations\n"));
}

TEST_CASE("the same in JSON", "[report][tensors]") {
    ReportTrace trace;
    training(trace);
    const nlohmann::json process = json_of(trace.analysis());
    const nlohmann::json& tensors = process["tensors"];
    CHECK(tensors["blocks_seen"] == true);
    CHECK(tensors["left_by_quantity"]["tensor"]["bytes"] == 12588032);
    CHECK(tensors["left"]["rows"].size() == 2);
    CHECK(process["leak_summary"]["bytes"] == 23068672);
    const nlohmann::json& device = process["devices"][0]["tensor_blocks"];
    CHECK(device["peak"]["bytes"] == 16 * kMiB + 5120);
    uint64_t sum = 0;
    for (const nlohmann::json& row : device["peak"]["by_site"]["rows"]) sum += row["bytes"].get<uint64_t>();
    CHECK(sum == 16 * kMiB + 5120);
    const nlohmann::json& stats = device["memory_stats"];
    CHECK(stats["num_ooms"] == 1);
    CHECK(stats["num_alloc_retries"] == 1);
    CHECK(stats["allocation.all.allocated"] == 21);
    CHECK(stats["allocation.all.freed"] == 10);
    CHECK(stats["allocated_bytes.all.peak"] == 16 * kMiB + 5120);
    CHECK(stats["reserved_bytes.all.current"] == 22 * kMiB);
    CHECK(stats["segment.large_pool.allocated"] == 1);
    CHECK(stats["inactive_split_bytes.small_pool.current"] == 2 * kMiB - 5120);
    CHECK(device["check_allocated"]["differing"] == 0);
    CHECK(device["segments"]["large_pool"]["largest_free_bytes"] == 8 * kMiB);
    CHECK(process["recording"]["frameworks"][0] == "PyTorch 2.11.0+cu130");
    CHECK(process["failures"]["raised_by_framework"] == 1);
    CHECK(process["failures"]["calls"][0]["earlier_attempt"] == true);
    CHECK(process["failures"]["calls"][1]["framework"]["reserved_bytes"] == 22 * kMiB);
    CHECK(process["leaks"]["rows"][0]["segments"]["bytes"] == 20 * kMiB);
    CHECK(process["shown_at_ns"].is_null());
}

TEST_CASE("an instant in the middle shows what was live then", "[report][tensors]") {
    ReportTrace trace;
    training(trace);
    SECTION("while the job runs") {
        trace.at = 2'500'000;  // in the third step, between its tensors
        const Analysis analysis = trace.analysis();
        const std::string text = text_of(analysis);
        CHECK_THAT(text, ContainsSubstring("is shown as it was 0.002500 s after the start"));
        CHECK_THAT(text, ContainsSubstring("\nTENSORS LIVE AT 0.002500 s, by call site\n"));
        CHECK_THAT(text, ContainsSubstring("\nTENSOR MEMORY of device 0, at 0.002500 s, "));
        const nlohmann::json tensors = json_of(analysis)["tensors"];
        CHECK(tensors["left_by_quantity"]["tensor"]["count"] == 5);
        CHECK(tensors["left_by_quantity"]["tensor"]["bytes"] == 16 * kMiB + 3 * 512);
        CHECK(json_of(analysis)["devices"][0]["tensor_blocks"]["memory_stats"]["num_ooms"] == 0);
        CHECK(json_of(analysis)["shown_at_ns"] == 2'500'000);
    }
    SECTION("after its end it is as at the end") {
        trace.at = 1'000'000'000;
        CHECK(text_of(trace.analysis()).find("LIVE AT") == std::string::npos);
        CHECK(json_of(trace.analysis())["tensors"]["left_by_quantity"]["tensor"]["count"] == 11);
    }
    SECTION("before its first event there is nothing") {
        trace.at = 0;
        CHECK_THAT(text_of(trace.analysis()), ContainsSubstring("No CUDA memory event was recorded"));
    }
}

TEST_CASE("TensorFlow's blocks are told as get_memory_info does", "[report][tensors]") {
    ReportTrace trace;
    trace.job.stack(trace.load_).device_alloc(kLarge, 256 * kMiB);
    trace.job.host_alloc(0x1000000, 16 * kMiB);
    trace.job.device(trace::kNoDevice);
    trace.job.block_alloc(kLarge, 1024);
    trace.job.block_alloc(kLarge + 1024, 4096);
    trace.job.block_free(kLarge + 1024);
    trace.job.block_alloc(0x1000000, 8192);
    trace.job.block_alloc(0x5000, 100);
    const std::string text = text_of(trace.analysis());
    CHECK_THAT(text, ContainsSubstring("tf.config.experimental.get_memory_info('GPU:0'): current 1024, peak 5120\n"));
    CHECK_THAT(text, ContainsSubstring("Pinned host pools: 8.00 KiB now"));
    CHECK_THAT(text, ContainsSubstring("Not counted: 1 block outside CUDA memory"));
    CHECK(text.find("from small pool") == std::string::npos);
    CHECK(text.find("memory_summary") == std::string::npos);
}

TEST_CASE("sums that the framework does not share are told", "[report][tensors]") {
    ReportTrace trace;
    trace.job.stack(trace.load_).device_alloc(kLarge, 20 * kMiB);
    trace.job.block_alloc(kLarge, kMiB, 3 * kMiB, 40 * kMiB);
    trace.job.block_free(kLarge + 8 * kMiB, kMiB, 2 * kMiB, 40 * kMiB);
    const std::string text = text_of(trace.analysis());
    CHECK_THAT(text,
               ContainsSubstring("NOTE: the framework itself counts 2.00 MiB (2,097,152 bytes) more allocated than the "
                                 "events add up to, from the first one on: recording began late"));
    CHECK_THAT(text, ContainsSubstring("20.0 MiB (20,971,520 bytes) more reserved"));
    CHECK_THAT(text, ContainsSubstring("1 tensor that was freed was made before recording began"));
}

TEST_CASE("frameworks without blocks: where the tensor level comes from", "[report][tensors]") {
    ReportTrace trace;
    const trace::DefinitionId c10 = trace.module("/venv/torch/lib/libc10_cuda.so", "dd44");
    const uint32_t in_torch = trace.stack({{trace.cudart_, 0x10}, {c10, 0x50}, {trace.app_, 0x400}});
    trace.job.device(0).stack(in_torch);
    SECTION("the hook saw nothing of a caching allocator") {
        trace.job.device_alloc(kLarge, 20 * kMiB);
        CHECK_THAT(text_of(trace.analysis()),
                   ContainsSubstring("framework hook inactive: PyTorch took 1 segment from the driver and told of no "
                                     "tensor in them"));
    }
    SECTION("cudaMallocAsync") {
        trace.job.pool_alloc(kLarge, 512);
        CHECK_THAT(text_of(trace.analysis()), ContainsSubstring("the tensor level comes from cudaMallocAsync calls"));
    }
    SECTION("no caching") {
        trace.fact(trace::fact::kFramework, "PyTorch 2.11.0");
        trace.fact(trace::fact::kAllocator, "PYTORCH_NO_CUDA_MEMORY_CACHING=1");
        trace.job.device_alloc(kLarge, 512);
        CHECK_THAT(text_of(trace.analysis()), ContainsSubstring("the tensor level comes from cudaMalloc calls"));
    }
    SECTION("no framework: nothing to say") {
        trace.job.stack(trace.load_).device_alloc(kLarge, 512);
        CHECK(text_of(trace.analysis()).find("  tensors  ") == std::string::npos);
    }
}
