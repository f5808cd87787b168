// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/report_model.h"

#include "tests/unit/analyzer/report/report_trace.h"

using namespace vramtrace;
using report::By;
using report::Options;
using report::Sort;
using test::ReportTrace;

namespace {

// Three call sites: one big piece, many small ones, and one that only churns.
ReportTrace three_sites() {
    ReportTrace trace;
    trace.job.api(ReportTrace::kMemAlloc).label(ReportTrace::kMalloc);
    trace.job.stack(trace.load_).device_alloc(0x10000000, 10 << 20);
    trace.job.thread(8).stack(trace.step_);
    for (uint64_t i = 0; i < 5; ++i) trace.job.device_alloc(0x20000000 + (i << 20), 1000);
    trace.job.stack(trace.workspace_);
    for (int i = 0; i < 50; ++i) {
        trace.job.device_alloc(0x30000000, 4096);
        trace.job.device_free(0x30000000);
    }
    trace.job.device_alloc(0x30000000, 4096);
    return trace;
}

std::vector<std::string> titles(const report::Table& table) {
    std::vector<std::string> names;
    for (const report::Row& row : table.rows) names.push_back(row.title);
    return names;
}

report::Table leaks(const Analysis& analysis, By by, Sort sort, size_t limit = 0) {
    Options options;
    options.by = by;
    options.sort = sort;
    options.limit = limit;
    return build_report(analysis, options).processes[0].leaks;
}

using Titles = std::vector<std::string>;

}  // namespace

TEST_CASE("rows are sorted by what was asked for") {
    const Analysis analysis = three_sites().analysis();
    const std::string load = "Tensor::empty(unsigned long)";
    const std::string step = "step(Model&)";
    const std::string matmul = "matmul\x1b[2J()";
    CHECK(titles(leaks(analysis, By::Stack, Sort::Bytes)) == Titles{load, step, matmul});
    CHECK(titles(leaks(analysis, By::Stack, Sort::Count)) == Titles{step, load, matmul});
    CHECK(titles(leaks(analysis, By::Stack, Sort::Churn)) == Titles{matmul, load, step});
    CHECK(titles(leaks(analysis, By::Stack, Sort::Peak))[0] == load);
}

TEST_CASE("rows are grouped by what was asked for, and their sums stay exact") {
    const Analysis analysis = three_sites().analysis();
    CHECK(titles(leaks(analysis, By::File, Sort::Bytes)) == Titles{"/home/me/tensor.h", "/home/me/train.cpp"});
    CHECK(titles(leaks(analysis, By::Module, Sort::Bytes)) == Titles{"/home/me/train"});
    CHECK(titles(leaks(analysis, By::Api, Sort::Bytes)) == Titles{"cudaMalloc → cuMemAlloc_v2"});
    CHECK(titles(leaks(analysis, By::Device, Sort::Bytes)) == Titles{"device 0"});
    CHECK(titles(leaks(analysis, By::Thread, Sort::Bytes)) == Titles{"thread 1", "thread 8"});
    CHECK(titles(leaks(analysis, By::Function, Sort::Bytes)).size() == 3);
    for (const By by : {By::Stack, By::Function, By::File, By::Module, By::Api, By::Device, By::Thread}) {
        const report::Table table = leaks(analysis, by, Sort::Bytes);
        CHECK(table.total.bytes == (10U << 20) + 5000 + 4096);
        CHECK(table.total.count == 7);
        uint64_t sum = 0;
        for (const report::Row& row : table.rows) sum += row.amount.bytes;
        CHECK(sum == table.total.bytes);
    }
    const report::Row module = leaks(analysis, By::Module, Sort::Bytes).rows[0];
    CHECK(module.sites == 3);
    CHECK(module.stack == nullptr);
    CHECK(module.place.empty());
    CHECK(module.largest == 10U << 20);
    CHECK(module.smallest == 1000);
    CHECK(module.threads == std::vector<uint32_t>{1, 8});
}

TEST_CASE("what the limit cuts off is counted") {
    const report::Table table = leaks(three_sites().analysis(), By::Stack, Sort::Bytes, 1);
    REQUIRE(table.rows.size() == 1);
    CHECK(table.hidden_rows == 2);
    CHECK(table.hidden.bytes == 5000 + 4096);
    CHECK(table.hidden.count == 6);
}

TEST_CASE("the rows of the peak sum to the peak exactly") {
    ReportTrace trace;
    trace.standard_events();
    const Analysis analysis = trace.analysis();
    Options options;
    options.limit = 100;
    const report::DeviceReport device = build_report(analysis, options).processes[0].devices.at(0);
    uint64_t sum = 0;
    for (const report::Row& row : device.peak.rows) sum += row.amount.bytes;
    CHECK(sum == device.device_total->peak.bytes);
    CHECK(sum == 100U << 20);
}

TEST_CASE("equal names at different addresses are one call site") {
    ReportTrace trace;
    // The same library mapped a second time (after dlclose and dlopen): another module definition, the same place.
    const auto again = trace.module("/home/me/train", "aa11");
    const auto second = trace.stack({{trace.cudart_, 0x10}, {again, 0x100}, {again, 0x400}});
    trace.job.stack(trace.load_).device_alloc(0x1000, 512);
    trace.job.stack(second).device_alloc(0x2000, 512);
    const report::Table table = leaks(trace.analysis(), By::Stack, Sort::Bytes);
    REQUIRE(table.rows.size() == 1);
    CHECK(table.rows[0].sites == 2);
    CHECK(table.rows[0].amount.count == 2);
}

TEST_CASE("processes without a memory event are counted, not shown") {
    ReportTrace trace = three_sites();
    Analysis analysis = trace.analysis();
    analysis.processes.push_back(std::move(ReportTrace().analysis().processes[0]));
    const report::Report built = report::build_report(analysis, {});
    CHECK(built.processes.size() == 1);
    CHECK(built.processes_without_events == 1);
}
