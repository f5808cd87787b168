// SPDX-License-Identifier: Apache-2.0
#include "analyzer/verdict/verdicts.h"

#include "tests/support/catch.h"
#include "tests/unit/analyzer/verdict/judged_job.h"

using namespace vramtrace;
using namespace vramtrace::verdict;
using test::JudgedJob;
using Kind = trace::EventKind;

namespace {

constexpr uint64_t kMiB = 1 << 20;

// An iteration that leaves nothing: a workspace and an activation, freed at its end.
void plain_iteration(JudgedJob& judged) {
    judged.job.stack(1).device_alloc(0x1000, 4 * kMiB);
    judged.job.stack(2).device_alloc(0x2000, 8 * kMiB);
    judged.job.stack(90).device_free(0x2000);
    judged.job.stack(90).device_free(0x1000);
}

uint64_t leak_address(uint64_t number) {
    return 0x100000000 + number * 64 * kMiB;
}

}  // namespace

TEST_CASE("growth: a survivor of each iteration, told with its numbers", "[verdict]") {
    JudgedJob judged;
    judged.job.stack(5).device_alloc(0x9000, 100 * kMiB);  // weights: live long, do not grow
    for (uint64_t i = 0; i < 40; ++i) {
        plain_iteration(judged);
        judged.job.stack(3).device_alloc(leak_address(i), 20 * kMiB);
    }
    const auto findings = judged.judge();
    REQUIRE(findings.size() == 2);
    REQUIRE(findings[0].what == Class::Growth);
    CHECK(findings[0].weight == Weight::Leak);
    CHECK(findings[0].survivors_per_iteration == Approx(1.0).margin(0.06));
    CHECK(findings[0].bytes_per_iteration == Approx(20.0 * kMiB).epsilon(0.06));
    CHECK(findings[0].amount == accounts::Amount{40, 800 * kMiB});
    CHECK_THAT(findings[0].title, ContainsSubstring("site_3 at job.cpp:3"));
    CHECK(findings[1].what == Class::LeftAtExit);
    CHECK(findings[1].amount == accounts::Amount{1, 100 * kMiB});
}

TEST_CASE("no growth: what is only kept, what stops growing, what is given back", "[verdict]") {
    JudgedJob judged;
    const auto has = [](const std::vector<Finding>& findings, Class what) {
        for (const Finding& finding : findings) {
            if (finding.what == what) return true;
        }
        return false;
    };
    SECTION("a cache that fills in the first iterations") {
        for (uint64_t i = 0; i < 40; ++i) {
            plain_iteration(judged);
            if (i < 4) judged.job.stack(3).device_alloc(leak_address(i), kMiB);
        }
        const auto findings = judged.judge();
        CHECK_FALSE(has(findings, Class::Growth));
        CHECK(has(findings, Class::LeftAtExit));
    }
    SECTION("a cache that fills until the middle") {
        for (uint64_t i = 0; i < 40; ++i) {
            plain_iteration(judged);
            if (i < 20) judged.job.stack(3).device_alloc(leak_address(i), kMiB);
        }
        CHECK_FALSE(has(judged.judge(), Class::Growth));
    }
    SECTION("retention that ends") {
        for (uint64_t i = 0; i < 20; ++i) {
            plain_iteration(judged);
            judged.job.stack(3).device_alloc(leak_address(i), kMiB);
        }
        for (uint64_t i = 0; i < 20; ++i) judged.job.stack(91).device_free(leak_address(i));
        plain_iteration(judged);
        const auto findings = judged.judge();
        CHECK_FALSE(has(findings, Class::Growth));
        REQUIRE(has(findings, Class::DelayedRelease));
        CHECK_FALSE(has(findings, Class::LeftAtExit));
    }
    SECTION("a window of live things that moves on") {
        for (uint64_t i = 0; i < 40; ++i) {
            plain_iteration(judged);
            judged.job.stack(3).device_alloc(leak_address(i), kMiB);
            if (i >= 6) judged.job.stack(91).device_free(leak_address(i - 6));
        }
        const auto findings = judged.judge();
        CHECK_FALSE(has(findings, Class::Growth));
        CHECK_FALSE(has(findings, Class::DelayedRelease));
    }
    SECTION("the control: nothing is left") {
        for (uint64_t i = 0; i < 40; ++i) plain_iteration(judged);
        CHECK(judged.judge().empty());
    }
}

TEST_CASE("a leak on one path of three grows by a third of a piece", "[verdict]") {
    JudgedJob judged;
    for (uint64_t i = 0; i < 30; ++i) {
        judged.job.stack(3).device_alloc(leak_address(i), 8 * kMiB);
        if (i % 3 != 2) judged.job.stack(91).device_free(leak_address(i));
    }
    const auto findings = judged.judge();
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].what == Class::Growth);
    CHECK(findings[0].amount == accounts::Amount{10, 80 * kMiB});
    CHECK(findings[0].survivors_per_iteration == Approx(1.0 / 3).margin(0.05));
}

TEST_CASE("too few iterations: left, and no word about growth", "[verdict]") {
    JudgedJob judged;
    for (uint64_t i = 0; i < 4; ++i) {
        plain_iteration(judged);
        judged.job.stack(3).device_alloc(leak_address(i), kMiB);
    }
    const auto findings = judged.judge();
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].what == Class::LeftAtExit);
    CHECK_THAT(findings[0].evidence.back(), ContainsSubstring("too few iterations"));
}

TEST_CASE("who freed late: the collector, the end of the program", "[verdict]") {
    JudgedJob judged;
    const auto pile_up = [&](uint32_t stack, uint64_t first, uint32_t freed_by) {
        for (uint64_t i = 0; i < 20; ++i) {
            plain_iteration(judged);
            judged.job.stack(stack).device_alloc(leak_address(first + i), kMiB);
        }
        for (uint64_t i = 0; i < 20; ++i) judged.job.stack(freed_by).device_free(leak_address(first + i));
    };
    judged.names[92] = {"subtype_dealloc", "", "gc_collect_main"};
    judged.names[93] = {"main", "", "__run_exit_handlers"};
    pile_up(3, 0, 92);
    pile_up(4, 100, 93);
    const auto findings = judged.judge();
    REQUIRE(findings.size() == 2);
    // Held until the program ended: that is for ever.
    CHECK(findings[0].what == Class::Growth);
    CHECK(findings[0].weight == Weight::Leak);
    CHECK(findings[0].stack == 4);
    CHECK_THAT(findings[0].evidence[0], ContainsSubstring("held until the program ended"));
    CHECK(findings[1].what == Class::DelayedRelease);
    CHECK(findings[1].stack == 3);
    CHECK_THAT(findings[1].title, ContainsSubstring("by the garbage collector"));
}

TEST_CASE("a ramp: each larger than the one it replaces", "[verdict]") {
    JudgedJob judged;
    for (uint64_t i = 0; i < 20; ++i) {
        judged.job.stack(3).device_alloc(leak_address(i), (i + 1) * kMiB);
        if (i > 0) judged.job.stack(91).device_free(leak_address(i - 1));
    }
    const auto findings = judged.judge();
    REQUIRE_FALSE(findings.empty());
    CHECK(findings[0].what == Class::Ramp);
    CHECK_THAT(findings[0].title, ContainsSubstring("20.0 MiB"));
}

TEST_CASE("what a library keeps is a cache, unless it grows", "[verdict]") {
    JudgedJob judged;
    judged.names[3] = {"matmul", "libcublas.so.13", ""};
    SECTION("one for each of eight streams") {
        for (uint64_t i = 0; i < 8; ++i) judged.job.stack(3).device_alloc(leak_address(i), 8 * kMiB);
        for (uint64_t i = 0; i < 40; ++i) plain_iteration(judged);
        const auto findings = judged.judge();
        REQUIRE(findings.size() == 1);
        CHECK(findings[0].what == Class::LibraryCache);
        CHECK(findings[0].weight == Weight::Note);
        CHECK(findings[0].amount == accounts::Amount{8, 64 * kMiB});
    }
    SECTION("one more in every iteration") {
        for (uint64_t i = 0; i < 40; ++i) {
            plain_iteration(judged);
            judged.job.stack(3).device_alloc(leak_address(i), 8 * kMiB);
        }
        const auto findings = judged.judge();
        REQUIRE(findings.size() == 1);
        CHECK(findings[0].what == Class::Growth);
    }
}

TEST_CASE("handles that are never closed", "[verdict]") {
    JudgedJob judged;
    for (uint64_t i = 1; i <= 20; ++i) judged.job.stack(3).add(Kind::IpcOpen, {leak_address(i), 64 * kMiB, 0, 0, 0});
    judged.job.stack(4).object(Kind::StreamCreate, 0x77);
    for (uint64_t i = 0; i < 8; ++i) judged.job.stack(6).address(Kind::HostRegister, leak_address(200 + i), 32 * kMiB);
    const auto findings = judged.judge();
    REQUIRE(findings.size() == 3);
    CHECK(findings[0].what == Class::Handles);
    CHECK(findings[0].amount.count == 8);
    CHECK(findings[0].amount.bytes == 256 * kMiB);
    CHECK(findings[1].amount.count == 20);
    CHECK(findings[2].weight == Weight::Note);
    CHECK_THAT(findings[1].title, ContainsSubstring("20 ×"));
}

TEST_CASE("sites that read the same are one, over threads and devices", "[verdict]") {
    JudgedJob judged;
    judged.names[3] = judged.names[4] = {"load", "", ""};
    judged.job.thread(1).device(0).stack(3).device_alloc(leak_address(0), kMiB);
    judged.job.thread(2).device(1).stack(3).device_alloc(leak_address(1), kMiB);
    judged.job.thread(2).device(1).stack(4).device_alloc(leak_address(2), kMiB);
    const auto findings = judged.judge();
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].sites.size() == 3);
    CHECK(findings[0].amount == accounts::Amount{3, 3 * kMiB});
    CHECK(findings[0].device == trace::kNoDevice);
}

TEST_CASE("segments of a framework are a cache, its tensors are judged", "[verdict]") {
    JudgedJob judged;
    judged.job.stack(4).device_alloc(0x7f0000000000, 20 * kMiB);
    judged.job.stack(5).block_alloc(0x7f0000000000, 4 * kMiB);
    judged.job.stack(6).block_alloc(0x7f0000000000 + 4 * kMiB, 4 * kMiB);
    judged.job.stack(90).block_free(0x7f0000000000);
    const auto findings = judged.judge();
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].what == Class::UnusedReserve);
    CHECK(findings[0].weight == Weight::Note);
    CHECK(findings[0].amount == accounts::Amount{1, 20 * kMiB});
    CHECK_THAT(findings[0].title, ContainsSubstring("kept by the framework's allocator"));
    CHECK(findings[1].what == Class::LeftAtExit);
    CHECK(findings[1].weight == Weight::Note);  // a model lives to the end
    CHECK(findings[1].quantity == accounts::Quantity::Block);
    CHECK(findings[1].amount == accounts::Amount{1, 4 * kMiB});
}

TEST_CASE("workspaces of streams: cuBLAS keeps one for each, and a loop over new streams is no growth", "[verdict]") {
    JudgedJob judged;
    judged.names[3] = {"small_matmul", "libcublas.so.13", ""};
    for (uint64_t i = 0; i < 12; ++i) {
        judged.job.stack(4).object(Kind::StreamCreate, 0x100 + i);
        judged.job.stack(3).device_alloc(leak_address(i), 8 * kMiB);
    }
    const auto class_of_site = [&judged] {
        for (const Finding& finding : judged.judge()) {
            if (finding.stack == 3) return finding.what;
        }
        return Class::Handles;
    };
    SECTION("one a stream") {
        CHECK(class_of_site() == Class::LibraryCache);
    }
    SECTION("more than streams: a handle is lost each time") {
        judged.job.stack(3).device_alloc(leak_address(20), 8 * kMiB);
        judged.job.stack(3).device_alloc(leak_address(21), 8 * kMiB);
        CHECK(class_of_site() == Class::Growth);
    }
    SECTION("of different sizes: something else") {
        judged.job.stack(3).device_alloc(leak_address(20), 9 * kMiB);
        CHECK(class_of_site() == Class::Growth);
    }
}

TEST_CASE("modules grow by pieces: nobody says their bytes", "[verdict]") {
    JudgedJob judged;
    for (uint64_t i = 0; i < 40; ++i) {
        plain_iteration(judged);
        judged.job.stack(3).object(Kind::ModuleLoad, 0x500 + i);
    }
    const auto findings = judged.judge();
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].what == Class::Handles);
    CHECK(findings[0].survivors_per_iteration == Approx(1.0).margin(0.06));
}

TEST_CASE("what lies below the program's own line does not split a call site; a library's workspace does",
          "[verdict]") {
    JudgedJob judged;
    judged.names[3] = {"step", "", "aten::linear"};
    judged.names[4] = {"step", "", "aten::relu"};
    judged.names[6] = {"step", "libcublas.so.13", "cublasCreate"};
    for (uint64_t i = 0; i < 40; ++i) {
        judged.job.stack(3).block_alloc(leak_address(2 * i), 2 * kMiB);
        judged.job.stack(4).block_alloc(leak_address(2 * i + 1), 3 * kMiB);
        if (i == 0) judged.job.stack(6).device_alloc(leak_address(500), 32 * kMiB);
    }
    const auto findings = judged.judge();
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].what == Class::Growth);
    CHECK(findings[0].sites.size() == 2);
    CHECK(findings[0].bytes_per_iteration == Approx(5.0 * kMiB).epsilon(0.06));
    CHECK(findings[1].what == Class::LibraryCache);
}
