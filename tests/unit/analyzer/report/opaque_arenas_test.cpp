// SPDX-License-Identifier: Apache-2.0
#include "analyzer/opaque_arenas.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/report/json_report.h"
#include "analyzer/report/text_report.h"
#include "tests/unit/analyzer/report/report_trace.h"

using namespace vramtrace;
using test::ReportTrace;

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr char kPlugin[] = "/venv/jax_plugins/xla_cuda13/xla_cuda_plugin.so";
constexpr char kTensorFlow[] = "/venv/tensorflow/libtensorflow_framework.so.2";
constexpr char kCupy[] = "/venv/cupy/cuda/memory.cpython-312-x86_64-linux-gnu.so";

// `count` allocations of `bytes` whose innermost caller is `library`.
struct Job : ReportTrace {
    explicit Job(const std::string& library, uint64_t bytes = 60 * kGiB, int count = 1) {
        const uint32_t from = stack({{cudart_, 0x10}, {module(library, "ee55"), 0x77}, {app_, 0x400}});
        job.thread(4711).device(0).stack(from).api(kMemAlloc);
        for (int i = 0; i < count; ++i) job.device_alloc(0x1000000000 + static_cast<uint64_t>(i) * bytes, bytes);
    }
    std::string found() {
        const Analysis made = analysis();
        REQUIRE(made.processes[0].accounts.sites.size() == 1);
        return opaque_arena(made.processes[0], made.processes[0].accounts.sites[0]).framework;
    }
};

}  // namespace

TEST_CASE("great pieces taken by a framework that hands them out unseen are opaque arenas") {
    CHECK(Job(kPlugin).found() == "JAX");
    CHECK(Job("/x/pjrt_c_api_gpu_plugin.so").found() == "JAX");
    CHECK(Job(kPlugin, 64 << 20, 12).found() == "JAX");
    CHECK(Job(kTensorFlow).found() == "TensorFlow");
    CHECK(Job(kCupy, 512, 1000).found() == "CuPy");
    CHECK(Job("/home/me/train2").found().empty());
}

TEST_CASE("a framework that asks the driver for each buffer has no arena") {
    CHECK(Job(kPlugin, 60 << 20, 100).found().empty());
    CHECK(Job(kPlugin, 4096, 3).found().empty());
    Job each(kPlugin);
    each.fact("allocator", "XLA_PYTHON_CLIENT_ALLOCATOR=platform");
    CHECK(each.found().empty());
    Job same(kPlugin);
    same.fact("allocator", "XLA_PYTHON_CLIENT_ALLOCATOR=bfc");
    CHECK(same.found() == "JAX");
}

TEST_CASE("a workspace of a library that a framework calls is no arena") {
    ReportTrace trace;
    const uint32_t from =
        trace.stack({{trace.cudart_, 0x10}, {trace.cublas_, 0x20}, {trace.module(kPlugin, "ee55"), 0x77}});
    trace.job.thread(1).device(0).stack(from).device_alloc(0x1000000000, kGiB);
    const Analysis made = trace.analysis();
    CHECK_FALSE(opaque_arena(made.processes[0], made.processes[0].accounts.sites.at(0)).is_one());
}

TEST_CASE("TensorFlow's regions are no secret once its blocks are seen") {
    Job job(kTensorFlow);
    job.job.address(ReportTrace::Kind::BlockAlloc, 0x1000000000, 256);
    const Analysis made = job.analysis();
    CHECK_FALSE(opaque_arena(made.processes[0], made.processes[0].accounts.sites.at(0)).is_one());
}

TEST_CASE("reports say that an arena cannot be judged inside and name the option") {
    const Analysis made = Job(kPlugin).analysis();
    const report::Report report = report::build_report(made, {});
    std::ostringstream text, json;
    report::write_text(text, report);
    report::write_json(json, report);
    CHECK(text.str().find("    opaque arena of JAX: cannot judge inside; vramtrace run --framework-detail") !=
          std::string::npos);
    CHECK(text.str().find("[opaque arena]") != std::string::npos);
    const auto document = nlohmann::json::parse(json.str());
    const std::string said = document["processes"][0]["leaks"]["rows"][0]["opaque_arena"];
    CHECK(said.find("XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async") != std::string::npos);
    const Analysis plain = Job("/home/me/train2").analysis();
    std::ostringstream other;
    report::write_text(other, report::build_report(plain, {}));
    CHECK(other.str().find("opaque") == std::string::npos);
}

TEST_CASE("a run with --framework-detail is said in both reports") {
    Analysis made = Job(kPlugin).analysis();
    made.framework_detail = {{"JAX", "XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async", false},
                             {"JAX", "XLA_PYTHON_CLIENT_PREALLOCATE", "true", true}};
    const report::Report report = report::build_report(made, {});
    std::ostringstream text, json;
    report::write_text(text, report);
    report::write_json(json, report);
    CHECK(text.str().rfind("run with --framework-detail, which changes behaviour: "
                           "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async XLA_PYTHON_CLIENT_PREALLOCATE=true (the user's)\n",
                           0) == 0);
    const auto list = nlohmann::json::parse(json.str())["framework_detail"];
    REQUIRE(list.size() == 2);
    CHECK(list[1]["by_user"] == true);
    CHECK(list[0]["value"] == "cuda_async");
}
