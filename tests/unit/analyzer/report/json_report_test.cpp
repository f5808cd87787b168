// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/json_report.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/analyzer/report/report_trace.h"

using namespace vramtrace;
using Json = nlohmann::json;
using test::ReportTrace;

namespace {

Json json_of(const Analysis& analysis, const report::Options& options = {}) {
    std::ostringstream out;
    report::write_json(out, report::build_report(analysis, options));
    return Json::parse(out.str());  // throws on anything that is not JSON
}

}  // namespace

TEST_CASE("the JSON report has the fields that docs/report-json.md names") {
    ReportTrace trace;
    trace.standard_events();
    const Json document = json_of(trace.analysis());
    CHECK(document.at("schema_version") == 1);
    CHECK(document.at("leak_summary") == Json({{"bytes", 4198400}, {"allocations", 3}}));
    const Json& process = document.at("processes").at(0);
    for (const char* field :
         {"pid",       "parent_pid",   "host",       "start_time",    "boot_id",      "recording_started_realtime_ns",
          "title",     "command",      "executable", "directory",     "end",          "duration_ns",
          "recording", "leak_summary", "leaks",      "address_space", "open_handles", "handle_counts",
          "devices",   "totals",       "churn",      "failures"}) {
        INFO(field);
        CHECK(process.contains(field));
    }
    CHECK(process.at("end").at("how") == "exited");
    CHECK(process.at("end").at("exit_code") == 0);
    CHECK(process.at("end").at("signal").is_null());
    CHECK(process.at("recording").at("lost_events") == 0);
    CHECK(process.at("recording").at("judged_until_ns").is_null());
    CHECK(process.at("leak_summary").at("by_quantity").at("device") == Json({{"bytes", 4194304}, {"count", 2}}));
    CHECK(process.at("leak_summary").at("by_quantity").at("host-pinned") == Json({{"bytes", 4096}, {"count", 1}}));

    const Json& row = process.at("leaks").at("rows").at(0);
    CHECK(row.at("title") == "Tensor::empty(unsigned long)");
    CHECK(row.at("place") == "tensor.h:12");
    CHECK(row.at("api") == "cudaMalloc → cuMemAlloc_v2");
    CHECK(row.at("bytes") == 4194304);
    CHECK(row.at("first_ns") == 1000);
    CHECK(row.at("example_address") == "0x20000000");
    const Json& stack = row.at("stack");
    REQUIRE(stack.size() == 4);
    CHECK(stack.at(0).at("vendor") == true);
    CHECK(stack.at(1).at("inlined") == true);
    CHECK(stack.at(2).at("function") == "load_weights(Model&)");
    CHECK(stack.at(2).at("file") == "/home/me/model.cpp");
    CHECK(stack.at(2).at("line") == 33);
    CHECK(stack.at(2).at("offset") == "0x100");
    CHECK(stack.at(2).at("module") == "/home/me/train");
}

TEST_CASE("the JSON report gives the same numbers as the tables") {
    ReportTrace trace;
    trace.standard_events();
    const Json process = json_of(trace.analysis()).at("processes").at(0);
    const Json& device = process.at("devices").at(0);
    CHECK(device.at("peak").at("bytes") == 104857600);
    uint64_t sum = 0;
    for (const Json& row : device.at("peak").at("by_site").at("rows")) sum += row.at("bytes").get<uint64_t>();
    CHECK(sum == 104857600);
    int64_t parts = 0;
    for (const Json& part : device.at("use_at_end").at("parts")) parts += part.at("bytes").get<int64_t>();
    CHECK(device.at("use_at_end").at("measured") == true);
    CHECK(parts == device.at("use_at_end").at("total_bytes").get<int64_t>());
    CHECK(process.at("churn").at("rows").at(0).at("freed") == 20);
    CHECK(process.at("failures").at("total") == 1);
    CHECK(process.at("failures").at("calls").at(0).at("bytes") == (1ULL << 40));
    CHECK(process.at("failures").at("calls").at(0).at("recovered_after_ns").is_null());
    CHECK(process.at("open_handles").at("rows").at(0).at("kind") == "stream");
}

TEST_CASE("names that are no UTF-8 and control characters leave valid JSON") {
    ReportTrace trace;
    trace.standard_events();
    trace.fact("command", std::string("./\xff\x01train\0a\"b", 13));
    const Json document = json_of(trace.analysis());
    CHECK(document.at("processes").at(0).at("command").at(1) == "a\"b");
}
