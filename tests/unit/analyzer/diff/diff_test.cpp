// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/diff.h"

#include "tests/support/catch.h"
#include "tests/unit/analyzer/verdict/judged_job.h"

namespace vramtrace::diff {
namespace {

Analysis analysis_of(test::JudgedJob& job) {
    job.judge();
    Analysis analysis;
    analysis.processes.push_back(job.process());
    return analysis;
}

test::JudgedJob job_of(uint32_t kept, uint64_t bytes) {
    test::JudgedJob job;
    job.names[1].function = "keep()";
    job.job.stack(1);
    for (uint32_t i = 0; i < kept; ++i) job.job.device_alloc(0x10000000 * (i + 1ULL), bytes);
    return job;
}

TEST_CASE("a call site is compared with the one of the same names") {
    test::JudgedJob a = job_of(3, 1000), b = job_of(1, 1000);
    const Analysis before = analysis_of(a), after = analysis_of(b);
    const Diff diff = compare(before, after, {});
    REQUIRE(diff.processes.size() == 1);
    REQUIRE(diff.processes[0].quantities.size() == 1);
    const QuantityDiff& device = diff.processes[0].quantities[0];
    REQUIRE(device.sites.size() == 1);
    const SiteChange& site = device.sites[0];
    CHECK_FALSE(site.is_new());
    CHECK_FALSE(site.is_gone());
    CHECK(change(device.quantity, site.before.amounts, site.after.amounts).left == -2000);
    CHECK(change(device.quantity, device.before, device.after).peak == -2000);
}

TEST_CASE("a side without memory cannot be compared") {
    test::JudgedJob a = job_of(1, 1000), b = job_of(0, 0);
    const Analysis before = analysis_of(a), after = analysis_of(b);
    const Diff diff = compare(before, after, {});
    CHECK(diff.processes.empty());
    REQUIRE(diff.obstacles.size() >= 1);
    CHECK(diff.obstacles.back().substr(0, 3) == "B: ");
}

}  // namespace
}  // namespace vramtrace::diff
