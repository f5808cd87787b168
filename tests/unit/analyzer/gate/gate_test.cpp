// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/gate.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "analyzer/gate/results/results.h"
#include "tests/support/catch.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/analyzer/verdict/judged_job.h"

using namespace vramtrace;
using namespace vramtrace::gate;
using test::JudgedJob;

namespace {

constexpr uint64_t kMiB = 1 << 20;

// Forty iterations, each of which leaks 3 MiB at site 3; 64 MiB at site 5 are left.
Analysis leaking_job(uint64_t each = 3 * kMiB) {
    JudgedJob judged;
    judged.names[3] = {"Cache::add(int)", "", ""};
    judged.job.stack(5).device_alloc(0x9000, 64 * kMiB);
    for (uint64_t i = 0; i < 40; ++i) {
        judged.job.stack(1).device_alloc(0x1000, 4 * kMiB);
        judged.job.stack(3).device_alloc(0x100000000 + i * 64 * kMiB, each);
        judged.job.stack(90).device_free(0x1000);
    }
    judged.judge();
    Analysis analysis;
    analysis.processes.push_back(judged.process());
    return analysis;
}

Request with(const Limits& limits) {
    Request request;
    request.limits = limits;
    request.today = "2027-01-31";
    return request;
}

const RuleResult& rule(const Decision& decision, const std::string& id) {
    for (const RuleResult& result : decision.rules) {
        if (result.id == id) return result;
    }
    FAIL("no rule " << id);
    return decision.rules.front();
}

}  // namespace

TEST_CASE("what is usual: no leak, no growth", "[gate]") {
    const Analysis analysis = leaking_job();
    const Decision decision = decide(analysis, with(Limits::usual()));
    CHECK(decision.outcome == Outcome::Failed);
    CHECK(rule(decision, "leaked-bytes").offenders.size() == 2);
    CHECK_THAT(rule(decision, "leaked-bytes").measured, ContainsSubstring("in 41 allocations"));
    CHECK(rule(decision, "growth").offenders.size() == 1);
    CHECK(decision.sentence() == "gate failed: leaked-bytes, growth");
}

TEST_CASE("each limit, just kept and just broken", "[gate]") {
    const Analysis analysis = leaking_job();
    const auto outcome = [&](auto&& set) {
        Limits limits;
        set(limits);
        return decide(analysis, with(limits)).outcome;
    };
    const uint64_t leaked = 64 * kMiB + 40 * 3 * kMiB, peak = leaked + 4 * kMiB;
    CHECK(outcome([&](Limits& l) { l.leaked_bytes = leaked; }) == Outcome::Passed);
    CHECK(outcome([&](Limits& l) { l.leaked_bytes = leaked - 1; }) == Outcome::Failed);
    CHECK(outcome([&](Limits& l) { l.leaked_allocations = 41; }) == Outcome::Passed);
    CHECK(outcome([&](Limits& l) { l.leaked_allocations = 40; }) == Outcome::Failed);
    CHECK(outcome([&](Limits& l) { l.leaked_bytes_per_site = 120 * kMiB; }) == Outcome::Passed);
    CHECK(outcome([&](Limits& l) { l.leaked_bytes_per_site = 120 * kMiB - 1; }) == Outcome::Failed);
    CHECK(outcome([&](Limits& l) { l.growth = 4 * kMiB; }) == Outcome::Passed);
    CHECK(outcome([&](Limits& l) { l.growth = 2 * kMiB; }) == Outcome::Failed);
    CHECK(outcome([&](Limits& l) { l.peak = peak; }) == Outcome::Passed);
    CHECK(outcome([&](Limits& l) { l.peak = peak - 1; }) == Outcome::Failed);
    CHECK(outcome([&](Limits& l) { l.failed_allocations = 0; }) == Outcome::Passed);
    CHECK(outcome([&](Limits& l) { l.handles = 0; }) == Outcome::Passed);
    CHECK(outcome([&](Limits& l) { l.peak_tolerance = 0.05; }) == Outcome::Failed);  // without a baseline
}

TEST_CASE("suppressions cover whole findings within their limits and time, and say what they did", "[gate]") {
    const Analysis analysis = leaking_job();
    Request request = with(Limits::usual());
    const auto suppressed = [&](Suppression suppression) {
        request.suppressions = {std::move(suppression)};
        return decide(analysis, request);
    };
    Suppression cache;
    cache.pattern = "Cache::*add";
    SECTION("it covers") {
        const Decision decision = suppressed(cache);
        CHECK(rule(decision, "growth").passed);
        CHECK(rule(decision, "leaked-bytes").offenders.size() == 1);
        CHECK(decision.suppressions[0].findings == 1);
        CHECK(decision.suppressions[0].amount == accounts::Amount{40, 120 * kMiB});
    }
    SECTION("by another kind") {
        cache.kind = "pinned host memory";
        CHECK_FALSE(rule(suppressed(cache), "growth").passed);
    }
    SECTION("by this kind") {
        cache.kind = "device memory";
        CHECK(rule(suppressed(cache), "growth").passed);
    }
    SECTION("more than it accepts") {
        cache.most_bytes = 120 * kMiB - 1;
        const Decision decision = suppressed(cache);
        CHECK_FALSE(rule(decision, "growth").passed);
        CHECK(decision.suppressions[0].exceeded);
    }
    SECTION("on its last day, and after") {
        cache.until = "2027-01-31";
        CHECK(rule(suppressed(cache), "growth").passed);
        cache.until = "2027-01-30";
        const Decision decision = suppressed(cache);
        CHECK_FALSE(rule(decision, "growth").passed);
        CHECK(decision.suppressions[0].expired);
    }
    SECTION("unused") {
        cache.pattern = "nothing like it";
        const Decision decision = suppressed(cache);
        std::ostringstream text;
        write_text(text, decision, {});
        CHECK_THAT(text.str(), ContainsSubstring("unused"));
    }
}

TEST_CASE("a baseline: what is known passes, what is new or more fails", "[gate]") {
    const test::ScratchDirectory scratch;
    const Analysis before = leaking_job();
    const Decision first = decide(before, with(Limits::usual()));
    write_baseline(scratch.file("known.json"), first.baseline_of_this_run);
    Request request = with(Limits::usual());
    request.baseline = read_baseline(scratch.file("known.json"));
    CHECK(decide(before, request).outcome == Outcome::Passed);
    CHECK(decide(before, request).known_in_baseline == 2);
    const Analysis worse = leaking_job(3 * kMiB + 1);
    CHECK(decide(worse, request).outcome == Outcome::Failed);
    request.limits = {};
    request.limits.peak_tolerance = 0.01;
    CHECK(decide(before, request).outcome == Outcome::Passed);
    CHECK(decide(leaking_job(5 * kMiB), request).outcome == Outcome::Failed);
}

TEST_CASE("what is no baseline is said, not believed", "[gate]") {
    const test::ScratchDirectory scratch;
    const auto refused = [&](const std::string& text) {
        std::ofstream(scratch.file("b.json")) << text;
        CHECK_THROWS_AS(read_baseline(scratch.file("b.json")), std::invalid_argument);
    };
    refused("");
    refused("[]");
    refused(R"({"tool": 3})");
    refused(R"({"tool": "vramtrace baseline", "schema_version": "x"})");
    refused(R"({"tool": "vramtrace baseline", "schema_version": 1, "sites": {"a": 1}, "peaks": {}})");
    CHECK_THROWS_AS(read_baseline(scratch.file("not there")), std::invalid_argument);
}

TEST_CASE("what cannot be judged", "[gate]") {
    Analysis analysis = leaking_job();
    Limits generous;
    generous.leaked_bytes = UINT64_MAX;
    CHECK(decide(analysis, with(generous)).outcome == Outcome::Passed);
    SECTION("nothing recorded") {
        analysis.processes.clear();
        CHECK(decide(analysis, with(generous)).outcome == Outcome::CannotJudge);
    }
    SECTION("lost events") {
        analysis.processes[0].status.losses[static_cast<size_t>(trace::Loss::RingFull)] = 1;
    }
    SECTION("still running") {
        analysis.processes[0].end.how = trace::SourceStatus::End::Running;
    }
    SECTION("a torn trace") {
        analysis.processes[0].status.warnings.emplace_back("its tail is torn");
    }
    CHECK(decide(analysis, with(generous)).outcome == Outcome::CannotJudge);
    // What was seen is enough to fail.
    if (!analysis.processes.empty()) CHECK(decide(analysis, with(Limits::usual())).outcome == Outcome::Failed);
}

TEST_CASE("the same job, twenty times the same answer", "[gate]") {
    std::string first;
    for (int i = 0; i < 20; ++i) {
        const Analysis analysis = leaking_job();
        std::ostringstream text, json;
        const Decision decision = decide(analysis, with(Limits::usual()));
        write_text(text, decision, {});
        write_json(json, decision, {});
        if (i == 0) first = text.str() + json.str();
        REQUIRE(text.str() + json.str() == first);
    }
}

TEST_CASE("tensors that pile up are leaked memory; a model that lives to the end is none, nor are segments", "[gate]") {
    JudgedJob judged;
    judged.job.stack(4).device_alloc(0x7f0000000000, 200 * kMiB);
    judged.job.stack(5).block_alloc(0x7f0000000000, 4 * kMiB);
    const auto outcome = [&] {
        judged.judge();
        Analysis analysis;
        analysis.processes.push_back(judged.process());
        return decide(analysis, with(Limits::usual())).outcome;
    };
    CHECK(outcome() == Outcome::Passed);
    for (uint64_t i = 1; i <= 40; ++i) judged.job.stack(6).block_alloc(0x7f0000000000 + 4 * i * kMiB, 4 * kMiB);
    judged.judge();
    Analysis analysis;
    analysis.processes.push_back(judged.process());
    const Decision failed = decide(analysis, with(Limits::usual()));
    CHECK(failed.outcome == Outcome::Failed);
    CHECK_THAT(rule(failed, "leaked-bytes").measured,
               ContainsSubstring("160 MiB (167,772,160 bytes) in 40 allocations"));
    CHECK_FALSE(rule(failed, "growth").passed);
}

TEST_CASE("a step's summary stays below its limit, whatever there is to say", "[gate]") {
    const Analysis analysis = leaking_job();
    Decision decision = decide(analysis, with(Limits::usual()));
    const std::string wide(2 << 20, '*');
    for (RuleResult& rule : decision.rules) {
        const Offender one = rule.offenders.at(0);
        rule.measured = wide;
        for (int i = 0; i < 5000; ++i) {
            rule.offenders.push_back(one);
            rule.offenders.back().finding->evidence.assign(100, wide.substr(0, 3000));
        }
    }
    decision.obstacles.assign(5000, wide.substr(0, 10000));
    const std::string summary = github_summary(decision);
    CHECK(summary.size() < (1 << 20));
    CHECK_THAT(summary, ContainsSubstring("gate failed"));
    CHECK_THAT(summary, ContainsSubstring("**FAILED**"));
    CHECK_THAT(summary, ContainsSubstring("and 4990 more reasons"));
}

TEST_CASE("a phase of a job that runs: judged once it has ended", "[gate]") {
    Analysis analysis = leaking_job(1);
    ProcessAnalysis& process = analysis.processes[0];
    Limits generous;
    generous.leaked_bytes = UINT64_MAX;
    Request request = with(generous);
    request.phase = "step";
    SECTION("one that the trace does not have") {
        process.accounts.cut = accounts::PhaseWindow{};
        CHECK(decide(analysis, request).outcome == Outcome::CannotJudge);
        process.accounts.cut->ranges = 1;
        CHECK(decide(analysis, request).outcome == Outcome::Passed);
    }
    SECTION("running") {
        process.accounts.cut = accounts::PhaseWindow{};
        process.accounts.cut->ranges = 1;
        process.end.how = trace::SourceStatus::End::Running;
        CHECK(decide(analysis, request).outcome == Outcome::CannotJudge);
        request.running = true;
        CHECK(decide(analysis, request).outcome == Outcome::Passed);
        SECTION("and still in it") {
            process.accounts.cut->open = true;
        }
        SECTION("with lost events") {
            process.status.losses[static_cast<size_t>(trace::Loss::RingFull)] = 1;
        }
        SECTION("with ranges that were not measured") {
            process.accounts.phases.not_measured = 1;
        }
        CHECK(decide(analysis, request).outcome ==
              (process.accounts.cut->open || process.lost_events() != 0 || process.accounts.phases.not_measured != 0
                   ? Outcome::CannotJudge
                   : Outcome::Passed));
    }
    SECTION("a process that is not there") {
        analysis.processes.clear();
        request.pid = 1;
        CHECK(decide(analysis, request).obstacles.at(0) == "the trace has no process 1");
    }
}

TEST_CASE("a test's tensors that survive it are leaked, if that is asked", "[gate]") {
    JudgedJob judged;
    judged.job.stack(4).device_alloc(0x7f0000000000, 200 * kMiB);
    judged.job.stack(5).block_alloc(0x7f0000000000, 4 * kMiB);
    judged.judge();
    Analysis analysis;
    analysis.processes.push_back(judged.process());
    Request request = with(Limits::usual());
    CHECK(decide(analysis, request).outcome == Outcome::Passed);
    request.survivors = true;
    CHECK_THAT(rule(decide(analysis, request), "leaked-bytes").measured,
               ContainsSubstring("4.00 MiB (4,194,304 bytes) in 1 allocation"));
}
